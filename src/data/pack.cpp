// Reading and writing packs: the files of photographs one after another, then an index, then a
// footer that says where the index begins. All numbers are 64-bit, in the byte order of this
// machine.
//
//   "DBPHOTO1"  file file ...  index  {index's offset, its size, its CRC-32}  "DBPHOTO1"
//
// The index consists of three texts, each preceded by its length (framing.hpp): the classes, the
// names (each again a list of texts), and the records of the photographs.

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
#include "base/input_file.hpp"
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

class PackedPhotographs : public Photographs {
public:
    explicit PackedPhotographs(const std::string& path) : path_(path), file_(path) {
        file_.require();
        Footer footer{};
        char magic[kMagicSize] = {};
        file_.read(0, kMagicSize, magic);
        if (std::memcmp(magic, kMagic, kMagicSize) != 0) {
            throw UserError(path +
                            ": is not a pack of photographs (wrong first bytes): make one with "
                            "dbench data pack FOLDER " +
                            path);
        }
        const auto all = static_cast<uint64_t>(file_.size());
        if (all < kMagicSize + sizeof footer) refuse("it is truncated");
        const uint64_t end = all - sizeof footer;
        file_.read(static_cast<int64_t>(end), sizeof footer, &footer);
        if (std::memcmp(footer.magic, kMagic, kMagicSize) != 0) refuse("it is truncated");
        if (footer.offset > end || footer.size != end - footer.offset) refuse("its end is damaged");
        std::vector<uint8_t> index;
        read(footer.offset, footer.size, index);
        if (crc_of(index) != footer.crc) refuse("the checksum of its index is wrong");
        digest_ = data::digest(index);
        take({reinterpret_cast<const char*>(index.data()), index.size()}, footer.offset);
    }

    std::string path(int64_t k) const override {
        return path_ + ", " + names[static_cast<size_t>(k)];
    }

    std::span<const uint8_t> bytes(int64_t k, std::vector<uint8_t>& buffer) const override {
        const Record& record = records_[static_cast<size_t>(k)];
        read(record.offset, record.size, buffer);
        if (crc_of(buffer) != record.crc) {
            throw UserError(path(k) +
                            ": has a wrong checksum (the pack is damaged): copy or pack it "
                            "again");
        }
        return buffer;
    }

    std::string digest() const override { return digest_; }

private:
    [[noreturn]] void refuse(const std::string& why) const {
        throw UserError(path_ + ": is not a complete pack (" + why + "): copy or pack it again");
    }

    // The file may be truncated while it is used, so it is read and not mapped into memory: access
    // to a mapping beyond the end of its file ends the process.
    void read(uint64_t offset, uint64_t size, std::vector<uint8_t>& out) const {
        out.resize(size);
        const auto count = static_cast<int64_t>(size);
        if (file_.read(static_cast<int64_t>(offset), count, out.data()) == count) return;
        refuse("it became shorter while it was read");
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
    base::InputFile file_;
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
        const std::filesystem::path folder = std::filesystem::path(path).parent_path();
        base::sync_folder(folder.empty() ? "." : folder.string());
    } catch (...) {
        ::unlink(partial.c_str());
        throw;
    }
}

}  // namespace dbench::data
