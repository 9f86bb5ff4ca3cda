#include "data/files.hpp"

#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/input_file.hpp"

namespace dbench::data {
namespace {

namespace fs = std::filesystem;

struct CloseGz {
    void operator()(gzFile file) const { gzclose_r(file); }
};
using GzFile = std::unique_ptr<gzFile_s, CloseGz>;

[[noreturn]] void unreadable(const std::string& path, const std::string& why,
                             const std::string& source) {
    throw base::UserError(path + ": cannot be read (" + why +
                          "): check the file and its permissions, or get it again from " + source);
}

}  // namespace

DataFile read_data_file(const std::string& path, int64_t limit, const std::string& source) {
    // zlib also reads files that are not compressed, so one code path reads both kinds.
    base::InputFile input(path);
    if (!input.problem().empty()) unreadable(path, input.problem(), source);
    // Only the beginning is read if the file is too long anyway.
    constexpr int64_t kBeginning = 4096;
    uint8_t magic[2] = {};
    const bool packed = input.read(0, 2, magic) == 2 && magic[0] == 0x1f && magic[1] == 0x8b;
    if (!packed && input.size() > limit) limit = std::min(limit, kBeginning);
    errno = 0;
    const int descriptor = input.release();
    const GzFile gz(gzdopen(descriptor, "rb"));
    if (!gz) {
        const int why = errno != 0 ? errno : ENOMEM;
        ::close(descriptor);
        unreadable(path, std::strerror(why), source);
    }
    gzbuffer(gz.get(), 1U << 18);

    DataFile file{path, {}, 0};
    while (file.size <= limit) {
        const auto piece = static_cast<unsigned>(std::min<int64_t>(limit + 1 - file.size, 1 << 24));
        file.bytes.resize(static_cast<size_t>(file.size) + piece);
        const int got = gzread(gz.get(), file.bytes.data() + file.size, piece);
        int code = Z_OK;
        const char* reason = gzerror(gz.get(), &code);
        if (code != Z_OK && code != Z_STREAM_END) {
            if (code == Z_ERRNO) reason = std::strerror(errno);
            if (code == Z_BUF_ERROR) reason = "the compressed file ends too early";
            unreadable(path, reason, source);
        }
        if (got <= 0) break;
        file.size += got;
    }
    file.bytes.resize(static_cast<size_t>(file.size));
    if (gzdirect(gz.get()) != 0) file.size = std::max(file.size, input.size());
    return file;
}

std::string text_of(const DataFile& file) {
    return base::without_byte_order_mark({file.bytes.begin(), file.bytes.end()}, file.path);
}

void check_size(const DataFile& file, int64_t expected, const std::string& layout,
                const std::string& source) {
    if (file.size == expected) return;
    throw base::UserError(file.path + ": is too " + (file.size < expected ? "short" : "long") +
                          " (found " + std::to_string(file.size) + " bytes" +
                          (file.path.ends_with(".gz") ? " unpacked" : "") + ", expected " +
                          std::to_string(expected) + ", " + layout + "): get it again from " +
                          source);
}

namespace {

std::string digest_of(const void* bytes, size_t size) {
    const auto sum = crc32_z(crc32_z(0, nullptr, 0), static_cast<const Bytef*>(bytes), size);
    char text[16];
    std::snprintf(text, sizeof text, "crc32:%08lx", sum);
    return text;
}

}  // namespace

std::string digest(const std::vector<uint8_t>& bytes) {
    return digest_of(bytes.data(), bytes.size());
}
std::string digest(const std::string& bytes) { return digest_of(bytes.data(), bytes.size()); }

std::string data_root(const std::optional<std::string>& root, const std::string& folder,
                      const std::string& source) {
    if (root) return *root;
    const char* variable = std::getenv("DBENCH_DATA");
    if (variable != nullptr && *variable != '\0') return variable;
    throw base::UserError(
        "/data/root: is not set (nor is the environment variable DBENCH_DATA): set "
        "one of them to the folder that holds " +
        folder + "; the files are at " + source);
}

std::string existing_path(const std::string& path) {
    const char* root = std::getenv("DBENCH_DATA");
    for (const fs::path& each : {fs::path(path), root ? fs::path(root) / path : fs::path()}) {
        if (!each.empty() && base::kind_of(each.string()) != base::PathKind::nothing) {
            return each.string();
        }
    }
    return "";
}

std::string named_file(const std::string& path, const std::string& key) {
    if (std::string found = existing_path(path); !found.empty()) return found;
    const char* root = std::getenv("DBENCH_DATA");
    throw base::UserError("/data/" + key + ": there is no file " + path +
                          (root ? ", also not in " + std::string(root) : "") +
                          ": name a file, relative to the current folder or to $DBENCH_DATA");
}

std::string find_file(const std::string& folder, const std::vector<std::string>& names) {
    for (const auto& name : names) {
        const std::string path = (fs::path(folder) / name).string();
        if (base::kind_of(path) != base::PathKind::nothing) return path;
    }
    return "";
}

std::string find_folder(const std::string& root, const std::vector<std::string>& folders,
                        const std::vector<std::string>& names) {
    for (const auto& each : folders) {
        const std::string folder = each.empty() ? root : (fs::path(root) / each).string();
        if (!find_file(folder, names).empty()) return folder;
    }
    return "";
}

}  // namespace dbench::data
