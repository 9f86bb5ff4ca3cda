#include "base/input_file.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/folder.hpp"
#include "base/json.hpp"
#include "base/message_of.hpp"
#include "catch.hpp"

namespace dbench::base {
namespace {

namespace fs = std::filesystem;
using Catch::Matchers::ContainsSubstring;

std::string problem_of(const std::string& path) { return InputFile(path).problem(); }

}  // namespace

TEST_CASE("Only regular files are opened, and nothing waits for a pipe or a device") {
    const Folder folder;
    std::ofstream(folder / "file") << "0123456789";
    REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
    fs::create_symlink("pipe", folder / "link");
    CHECK(problem_of(folder / "file").empty());
    for (const char* name : {"pipe", "link"}) {
        CHECK_THAT(problem_of(folder / name), ContainsSubstring("a pipe or a device"));
    }
    CHECK_THAT(problem_of("/dev/zero"), ContainsSubstring("a pipe or a device"));
    CHECK(problem_of(folder.path()) == "it is a folder");
    CHECK(problem_of(folder / "none") == "No such file or directory");
    for (const char* name : {"pipe", "none"}) {
        const std::string path = folder / name;
        CHECK_THAT(
            message_of([&] { InputFile(path).require("try another"); }),
            ContainsSubstring(path + ": cannot be read (") && ContainsSubstring("): try another"));
        CHECK_THAT(message_of([&] { read_text(path); }), ContainsSubstring(path + ": cannot be"));
    }
}

TEST_CASE("A file is read at any place, and a read that its end cuts off says so") {
    const Folder folder;
    std::ofstream(folder / "file") << "0123456789";
    const InputFile file(folder / "file");
    CHECK(file.size() == 10);
    std::string bytes(4, '?');
    CHECK(file.read(2, 4, bytes.data()) == 4);
    CHECK(bytes == "2345");
    CHECK(file.read(8, 4, bytes.data()) == 2);
    CHECK(bytes == "8945");
    fs::resize_file(folder / "file", 3);
    CHECK(file.read(2, 4, bytes.data()) == 1);
    CHECK(file.read(4, 4, bytes.data()) == 0);
    CHECK_THAT(message_of([&] { static_cast<void>(file.read(-1, 4, bytes.data())); }),
               ContainsSubstring("file: cannot be read ("));
}

TEST_CASE("A file that is too large is refused before it is read") {
    const Folder folder;
    std::ofstream(folder / "sparse") << "1";
    fs::resize_file(folder / "sparse", uintmax_t{5} << 30);
    CHECK_THAT(message_of([&] { read_text(folder / "sparse"); }), ContainsSubstring("1 GiB"));
    CHECK(read_text("/proc/self/stat").size() > 10);  // Its size is said to be 0.
}

TEST_CASE("A byte order mark of UTF-8 is skipped, and other encodings are named") {
    const Folder folder;
    CHECK(without_byte_order_mark("\xef\xbb\xbf 1", "a") == " 1");
    CHECK(without_byte_order_mark("\xef\xbb", "a") == "\xef\xbb");
    CHECK(without_byte_order_mark("", "a").empty());
    using Wide = std::pair<std::string, const char*>;
    for (const auto& [text, name] : {Wide{std::string("\xff\xfe{\0", 4), "UTF-16"},
                                     {std::string("\xfe\xff\0{", 4), "UTF-16"},
                                     {std::string("\xff\xfe\0\0", 4), "UTF-32"},
                                     {std::string("\0\0\xfe\xff", 4), "UTF-32"}}) {
        std::ofstream(folder / "spec") << text;
        CHECK_THAT(message_of([&] { read_json(folder / "spec"); }),
                   ContainsSubstring("spec: is a text in " + std::string(name)));
    }
    std::ofstream(folder / "spec") << "\xef\xbb\xbf{}";
    CHECK(read_json(folder / "spec") == Json::object());
}

TEST_CASE("A path names a file, a folder or nothing, and what cannot be known is an error") {
    const Folder folder;
    std::ofstream(folder / "file") << "0";
    fs::create_symlink("loop", folder / "loop");
    CHECK(kind_of(folder / "file") == PathKind::file);
    CHECK(kind_of(folder.path()) == PathKind::folder);
    CHECK(kind_of("/dev/null") == PathKind::other);
    CHECK(kind_of(folder / "none") == PathKind::nothing);
    CHECK(kind_of(folder / "file/none") == PathKind::nothing);
    for (const char* name : {"loop", "loop/below"}) {
        CHECK_THAT(message_of([&] { kind_of(folder / name); }),
                   ContainsSubstring("loop") && ContainsSubstring("symbolic links"));
    }
}

TEST_CASE("The names in a folder are sorted, and a failure is reported") {
    const Folder folder;
    std::error_code error;
    CHECK(names_in(folder.path(), error).empty());
    for (const char* name : {"b", ".a", "c"}) std::ofstream(folder / name) << "0";
    CHECK(names_in(folder.path(), error) == std::vector<std::string>{".a", "b", "c"});
    CHECK_FALSE(error);
    CHECK(names_in(folder / "none", error).empty());
    CHECK(error == std::errc::no_such_file_or_directory);
}

TEST_CASE("A numbered name has digits between its beginning and its end") {
    CHECK(is_numbered("out.h5.crash-12.log", "out.h5.crash-", ".log"));
    for (const char* name : {"out.h5.crash-.log", "out.h5.crash-notes.log", "out.h5.crash-1.txt",
                             "h5.crash-1.log", "out.h5.crash-1a.log", "out.h5.crash-"}) {
        CHECK_FALSE(is_numbered(name, "out.h5.crash-", ".log"));
    }
    CHECK_FALSE(is_numbered("ab", "ab", "b"));  // the beginning and the end must not overlap
}

}  // namespace dbench::base
