#include "data/compressed_copy.hpp"

#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "base/error.hpp"
#include "base/file.hpp"
#include "data/files.hpp"

namespace dbench::data {
namespace {

namespace fs = std::filesystem;
using base::RunError;
using base::UserError;

constexpr int kLevel = 9;                    // zlib's best compression
constexpr int kGzipFormat = MAX_WBITS + 16;  // zlib's code for a gzip header and trailer
constexpr const char* kSource = "where you have it from";

/// Returns a gzip file with these contents. Its header has neither a name nor a time, so equal
/// contents give equal files.
std::vector<uint8_t> compressed(const std::vector<uint8_t>& contents) {
    z_stream stream{};
    if (deflateInit2(&stream, kLevel, Z_DEFLATED, kGzipFormat, 9, Z_DEFAULT_STRATEGY) != Z_OK) {
        throw std::bad_alloc();
    }
    constexpr size_t kPiece = size_t{1} << 30;  // zlib counts in 32 bits
    std::vector<uint8_t> out(deflateBound(&stream, static_cast<uLong>(contents.size())));
    size_t read = 0, written = 0;
    int state = Z_OK;
    while (state == Z_OK) {
        const size_t in = std::min(kPiece, contents.size() - read);
        const size_t space = std::min(kPiece, out.size() - written);
        stream.next_in = const_cast<Bytef*>(contents.data() + read);
        stream.avail_in = static_cast<uInt>(in);
        stream.next_out = out.data() + written;
        stream.avail_out = static_cast<uInt>(space);
        state = deflate(&stream, read + in == contents.size() ? Z_FINISH : Z_NO_FLUSH);
        read += in - stream.avail_in;
        written += space - stream.avail_out;
    }
    deflateEnd(&stream);
    if (state != Z_STREAM_END) throw RunError("zlib could not compress a file");
    out.resize(written);
    return out;
}

CompressedFile compress_file(const fs::path& from, const fs::path& to) {
    const std::string path = to.string(), partial = path + ".partial";
    const DataFile file =
        read_data_file(from.string(), std::numeric_limits<int64_t>::max() - 1, kSource);
    const std::vector<uint8_t> packed = compressed(file.bytes);
    try {
        base::NewFile out("the compressed file", partial);
        out.add(packed.data(), packed.size());
        out.finish();
        if (read_data_file(partial, file.size, kSource).bytes != file.bytes) {
            throw RunError("the compressed file " + path + " does not have the contents of " +
                           from.string() + ": the disk or the memory is damaged");
        }
        base::rename_file("the compressed file", partial, path, true);
    } catch (...) {
        std::error_code ignored;
        fs::remove(partial, ignored);
        throw;
    }
    return {to.filename().string(), file.size, static_cast<int64_t>(packed.size()),
            digest(file.bytes)};
}

}  // namespace

std::vector<std::string> files_to_compress(const std::string& folder) {
    std::vector<std::string> names;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
        if (!entry.is_regular_file(error)) continue;
        names.push_back(entry.path().filename().string());
        if (names.back().ends_with(".gz")) {
            throw UserError(entry.path().string() +
                            ": is compressed already: name a folder with the original files");
        }
    }
    if (error) {
        throw UserError(folder + ": cannot be read (" + error.message() +
                        "): name the folder with the files of a data set");
    }
    if (names.empty()) {
        throw UserError(folder + ": has no file: name the folder with the files of a data set");
    }
    std::sort(names.begin(), names.end());
    return names;
}

std::vector<CompressedFile> compress_files(
    const std::string& folder, const std::vector<std::string>& names, const std::string& target,
    bool replace, const std::function<void(int64_t files, int64_t bytes)>& progress) {
    std::error_code error;
    fs::create_directories(target, error);
    if (error) throw RunError(target + " cannot be created: " + error.message());
    const auto path_of = [&](const std::string& name) { return fs::path(target) / (name + ".gz"); };
    for (const std::string& name : names) {
        if (replace || !fs::exists(path_of(name), error)) continue;
        throw UserError(path_of(name).string() +
                        " exists already: choose another folder, or replace it with --force");
    }
    std::vector<CompressedFile> all;
    int64_t bytes = 0;
    for (const std::string& name : names) {
        all.push_back(compress_file(fs::path(folder) / name, path_of(name)));
        bytes += all.back().bytes;
        progress(static_cast<int64_t>(all.size()), bytes);
    }
    base::sync_folder(target);
    return all;
}

}  // namespace dbench::data
