#include "profile/superblock.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

namespace dbench::profile {
namespace {

constexpr std::array<char, 8> kSignature{'\x89', 'H', 'D', 'F', '\r', '\n', '\x1a', '\n'};
constexpr size_t kVersionAt = 8, kFlagsAt = 11;  // of superblock version 3
constexpr unsigned kWriting = 0x01, kSingleWriter = 0x04;
constexpr const char* kClearProperty = "clear_status_flags";  // of file access, for h5clear

}  // namespace

WriteMark write_mark(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw h5::Error(std::string("cannot read it (") + std::strerror(errno) + ")");
    std::array<char, 12> head{};
    file.read(head.data(), head.size());
    WriteMark mark;
    mark.hdf5 = file.gcount() == head.size() &&
                std::memcmp(head.data(), kSignature.data(), kSignature.size()) == 0;
    if (!mark.hdf5 || head[kVersionAt] < 3) return mark;
    const auto flags = static_cast<unsigned char>(head[kFlagsAt]);
    mark.writing = flags & kWriting;
    mark.readable = mark.writing && flags & kSingleWriter;
    return mark;
}

h5::File open_for_change(const std::string& path) {
    h5::prepare();
    const h5::Properties access = h5::file_access();
    const hbool_t clear = true;
    if (H5Pexist(access, kClearProperty) > 0) {
        h5::check(H5Pset(access, kClearProperty, &clear), "prepare to clear its mark");
    }
    return {H5Fopen(path.c_str(), H5F_ACC_RDWR, access), "open it for writing"};
}

}  // namespace dbench::profile
