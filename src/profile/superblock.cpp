#include "profile/superblock.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/input_file.hpp"
#include "profile/lookup3.hpp"

namespace dbench::profile {
namespace {

// Superblock of version 3: signature, version, sizes of offsets and lengths, flags; then the
// addresses of the base, the extension, the end of file and the root group; then a checksum.
constexpr std::array<unsigned char, 8> kSignature{0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
constexpr size_t kVersionAt = 8, kOffsetBytesAt = 9, kFlagsAt = 11;
constexpr size_t kEndOfFileAt = 28, kChecksumAt = 44, kBytes = 48;
constexpr unsigned kWriting = 0x01, kSingleWriter = 0x04;

using Head = std::array<unsigned char, kBytes>;

[[noreturn]] void fail(const std::string& what) {
    throw h5::Error("cannot " + what + " (" + std::strerror(errno) + ")");
}

bool is_hdf5(const Head& head) {
    return std::memcmp(head.data(), kSignature.data(), kSignature.size()) == 0;
}

Head read_head_superblock(std::istream& file) {
    Head head{};
    file.read(reinterpret_cast<char*>(head.data()), kBytes);
    if (file.gcount() < static_cast<std::streamsize>(kBytes)) head.fill(0);
    return head;
}

void put_little_endian(unsigned char* at, uint64_t value, size_t bytes) {
    for (size_t k = 0; k < bytes; ++k) at[k] = static_cast<unsigned char>(value >> (8 * k));
}

}  // namespace

WriteMark write_mark(const std::string& path) {
    const base::InputFile file(path);
    if (!file.problem().empty()) throw h5::Error("cannot read it (" + file.problem() + ")");
    Head head{};
    if (file.read(0, kBytes, head.data()) < static_cast<int64_t>(kBytes)) head.fill(0);
    WriteMark mark;
    mark.hdf5 = is_hdf5(head);
    if (!mark.hdf5 || head[kVersionAt] < 3) return mark;
    mark.writing = head[kFlagsAt] & kWriting;
    mark.readable = mark.writing && head[kFlagsAt] & kSingleWriter;
    return mark;
}

void clear_mark(const std::string& path) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    if (!file) fail("write it");
    Head head = read_head_superblock(file);
    if (!is_hdf5(head) || head[kVersionAt] != 3 || head[kOffsetBytesAt] != 8) {
        throw h5::Error("cannot clear its mark (an HDF5 file, but not a result file of dbench)");
    }
    file.seekg(0, std::ios::end);
    put_little_endian(&head[kEndOfFileAt], static_cast<uint64_t>(file.tellg()), 8);
    head[kFlagsAt] = 0;
    put_little_endian(&head[kChecksumAt], lookup3({head.data(), kChecksumAt}), 4);
    file.seekp(0);
    file.write(reinterpret_cast<const char*>(head.data()), kBytes);
    if (!file.flush()) fail("write it");
}

h5::File open_for_change(const std::string& path) {
    h5::prepare();
    if (write_mark(path).writing) clear_mark(path);
    const h5::Properties access = h5::file_access();
    // A driver other than that of the writing handle: HDF5 would share an open file within one
    // driver.
    h5::check(H5Pset_fapl_stdio(access), "prepare file access");
    return {H5Fopen(path.c_str(), H5F_ACC_RDWR, access), "open it for writing"};
}

}  // namespace dbench::profile
