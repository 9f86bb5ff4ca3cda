#include "fuzz.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.hpp"

namespace dbench::fuzz {
namespace {

namespace fs = std::filesystem;

struct Folder {
    Folder() {
        const fs::path memory = "/dev/shm";
        const fs::path parent = fs::is_directory(memory) ? memory : fs::temp_directory_path();
        path = (parent / ("dbench-fuzz-" + std::to_string(getpid()))).string();
        fs::create_directories(path);
    }
    ~Folder() {
        std::error_code ignored;
        fs::remove_all(path, ignored);
    }
    std::string path;
};

/// Returns true if a message says something and does not contain words of a library.
bool is_clear(const std::string& message) {
    for (const char* raw :
         {"[json.exception", "std::", "vector::", "basic_string", "bad_alloc", "broken contract"}) {
        if (message.find(raw) != message.npos) return false;
    }
    return message.size() > 10;
}

}  // namespace

const std::string& folder() {
    static const Folder folder;
    return folder.path;
}

std::string in_file(const std::string& content, const std::string& name) {
    const std::string path = folder() + "/" + name;
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
    return path;
}

void read_or_refuse(const std::string& input) {
    std::string problem;
    try {
        read(input);
    } catch (const base::UserError& error) {
        problem = error.what();
    } catch (const base::RunError& error) {
        problem = error.what();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "fuzz: not an error for a user: %s\n", error.what());
        std::abort();
    }
    if (problem.empty() || is_clear(problem)) return;
    std::fprintf(stderr, "fuzz: not a message for a user: %s\n", problem.c_str());
    std::abort();
}

}  // namespace dbench::fuzz

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size);
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
    dbench::fuzz::read_or_refuse({reinterpret_cast<const char*>(data), size});
    return 0;
}
