// Reading and writing packs: the files of photographs one after another, then an index, then a
// footer that says where the index begins. All numbers are 64-bit, in the byte order of this
// machine.
//
//   "DBPHOTO1"  file file ...  index  {index's offset, its size, its CRC-32}  "DBPHOTO1"
//
// The index consists of three texts, each preceded by its length (framing.hpp): the classes, the
// names (each again a list of texts), and the records of the photographs.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <type_traits>
#include <utility>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/framing.hpp"
#include "data/files.hpp"
#include "data/photographs.hpp"

namespace dbench::data {
namespace {

using base::UserError;

constexpr char kMagic[] = "DBPHOTO1";
constexpr size_t kMagicSize = sizeof kMagic - 1;

struct Record {
    uint64_t offset, size, crc, label;
};

struct Footer {
    uint64_t offset, size, crc;
    char magic[kMagicSize];
};
static_assert(sizeof(Footer) == 32 && std::is_trivially_copyable_v<Footer>);

uint64_t crc_of(std::span<const uint8_t> bytes) {
    return crc32_z(crc32_z(0, nullptr, 0), bytes.data(), bytes.size());
}

std::span<const uint8_t> pack_bytes_of(const std::string& text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

/// A file mapped into memory. The system reads pages on first use, and the ranks of a host share
/// them.
class Mapping {
public:
    explicit Mapping(const std::string& path) {
        const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        struct stat status {};
        bool good = descriptor >= 0 && ::fstat(descriptor, &status) == 0;
        if (good && status.st_size > 0) {
            size_ = static_cast<size_t>(status.st_size);
            data_ = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, descriptor, 0);
            good = data_ != MAP_FAILED;
        }
        const int why = errno;
        if (descriptor >= 0) ::close(descriptor);
        if (!good) {
            throw UserError(path + ": cannot be read (" + std::strerror(why) +
                            "): check the file and its permissions");
        }
    }
    ~Mapping() {
        if (size_ > 0) ::munmap(data_, size_);
    }
    Mapping(const Mapping&) = delete;

    std::span<const uint8_t> bytes() const { return {static_cast<const uint8_t*>(data_), size_}; }

private:
    void* data_ = nullptr;
    size_t size_ = 0;
};

class PackedPhotographs : public Photographs {
public:
    explicit PackedPhotographs(const std::string& path) : path_(path), file_(path) {
        const std::span<const uint8_t> all = file_.bytes();
        Footer footer{};
        if (all.size() < kMagicSize || std::memcmp(all.data(), kMagic, kMagicSize) != 0) {
            throw UserError(path +
                            ": is not a pack of photographs (wrong first bytes): make one with "
                            "dbench data pack FOLDER " +
                            path);
        }
        if (all.size() < kMagicSize + sizeof footer) refuse("it is truncated");
        std::memcpy(&footer, all.data() + all.size() - sizeof footer, sizeof footer);
        if (std::memcmp(footer.magic, kMagic, kMagicSize) != 0) refuse("it is truncated");
        const uint64_t end = all.size() - sizeof footer;
        if (footer.offset > end || footer.size != end - footer.offset) refuse("its end is damaged");
        const auto index = all.subspan(footer.offset, footer.size);
        if (crc_of(index) != footer.crc) refuse("the checksum of its index is wrong");
        digest_ = data::digest(std::vector<uint8_t>(index.begin(), index.end()));
        take({reinterpret_cast<const char*>(index.data()), index.size()}, footer.offset);
    }

    std::string path(int64_t k) const override {
        return path_ + ", " + names[static_cast<size_t>(k)];
    }

    std::span<const uint8_t> bytes(int64_t k, std::vector<uint8_t>&) const override {
        const Record& record = records_[static_cast<size_t>(k)];
        const auto bytes = file_.bytes().subspan(record.offset, record.size);
        if (crc_of(bytes) != record.crc) {
            throw UserError(path(k) +
                            ": has a wrong checksum (the pack is damaged): copy or pack it "
                            "again");
        }
        return bytes;
    }

    std::string digest() const override { return digest_; }

private:
    [[noreturn]] void refuse(const std::string& why) const {
        throw UserError(path_ + ": is not a complete pack (" + why + "): copy or pack it again");
    }

    void take(const std::string& index, uint64_t end) {
        try {
            const std::vector<std::string> parts = base::split_texts(index);
            if (parts.size() != 3) refuse("its index has a wrong format");
            classes = base::split_texts(parts[0]);
            names = base::split_texts(parts[1]);
            records_.resize(names.size());
            if (parts[2].size() != records_.size() * sizeof(Record))
                refuse("its index has a wrong length");
            std::memcpy(records_.data(), parts[2].data(), parts[2].size());
        } catch (const base::RunError&) {
            refuse("its index ends early");
        }
        for (const Record& record : records_) {
            if (record.offset > end || record.size > end - record.offset ||
                record.label >= classes.size()) {
                refuse("its index refers to missing bytes or classes");
            }
            labels.push_back(static_cast<int32_t>(record.label));
        }
        if (labels.empty()) refuse("it holds no photographs");
    }

    std::string path_, digest_;
    Mapping file_;
    std::vector<Record> records_;
};

}  // namespace

std::shared_ptr<const Photographs> packed_photographs(const std::string& path) {
    return std::make_shared<PackedPhotographs>(path);
}

void pack(const Photographs& all, const std::string& path,
          const std::function<void(int64_t photographs, int64_t bytes)>& progress) {
    const std::string partial = path + ".partial";
    base::NewFile file("the pack", partial);
    try {
        std::vector<Record> records;
        std::vector<uint8_t> buffer;
        uint64_t at = kMagicSize;
        file.add(kMagic, kMagicSize);
        for (int64_t k = 0; k < all.size(); ++k) {
            const std::span<const uint8_t> bytes = all.bytes(k, buffer);
            file.add(bytes.data(), bytes.size());
            records.push_back({at, bytes.size(), crc_of(bytes),
                               static_cast<uint64_t>(all.labels[static_cast<size_t>(k)])});
            at += bytes.size();
            progress(k + 1, static_cast<int64_t>(at));
        }
        const std::string index = base::join_texts(
            {base::join_texts(all.classes),
             base::join_texts(all.names),
             {reinterpret_cast<const char*>(records.data()), records.size() * sizeof(Record)}});
        Footer footer{at, index.size(), crc_of(pack_bytes_of(index)), {}};
        std::memcpy(footer.magic, kMagic, kMagicSize);
        file.add(index.data(), index.size());
        file.add(&footer, sizeof footer);
        file.finish();
        if (std::rename(partial.c_str(), path.c_str()) != 0) {
            throw base::RunError(
                "the pack " + path +
                " cannot be renamed from its .partial name: " + std::strerror(errno));
        }
        base::sync_folder(std::filesystem::absolute(path).parent_path().string());
    } catch (...) {
        ::unlink(partial.c_str());
        throw;
    }
}

}  // namespace dbench::data
