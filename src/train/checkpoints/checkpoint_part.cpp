#include "train/checkpoints/checkpoint_part.hpp"

#include <zlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "arena/device/host_rows.hpp"
#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"

namespace dbench::train {
namespace {

using base::Json;
using base::RunError;

/// Calls use(data, bytes) for each row of an entry, or once for state that all replicas share.
template <class Use>
void for_rows(const arena::StateTable::Entry& entry, arena::Queue& queue, const Use& use) {
    if (entry.data) return use(entry.data, entry.size);
    const arena::Rows rows = entry.buffer.rows();
    for (int64_t i = 0; i < rows.count; ++i) {
        const arena::HostRows row(rows.only(i), queue, "rows that are saved",
                                  arena::HostRows::State::settled);
        use(row.rows().data, row_bytes(entry));
    }
}

/// An open part: its head, checked, and the position of its data.
class Part {
public:
    explicit Part(const std::string& path) : path_(path) {
        if (base::why_not_regular_file(path).empty()) file_.open(path, std::ios::binary);
        std::string magic(kPartBegin.size(), '\0');
        uint64_t length = 0;
        uint32_t sum = 0;
        file_.read(magic.data(), static_cast<std::streamsize>(magic.size()));
        file_.read(reinterpret_cast<char*>(&length), sizeof length);
        file_.read(reinterpret_cast<char*>(&sum), sizeof sum);
        std::error_code unknown;
        size_ = static_cast<int64_t>(std::filesystem::file_size(path, unknown));
        if (!file_ || unknown || magic != kPartBegin || length > static_cast<uint64_t>(size_)) {
            throw RunError(path_ + " is missing or is not a part of a checkpoint");
        }
        std::string text(length, '\0');
        file_.read(text.data(), static_cast<std::streamsize>(length));
        if (!file_ || checksum(text.data(), text.size()) != sum)
            throw RunError(path_ + " is damaged");
        head_ = base::parse_json(text, path_);
        begin_ = static_cast<int64_t>(kPartBegin.size() + sizeof length + sizeof sum + length);
    }

    int64_t first() const { return head_.at("first"); }
    int64_t count() const { return head_.at("count"); }
    const Json& entries() const { return head_.at("entries"); }

    void rows(int64_t begin, int64_t end, const TakeRow& take) {
        int64_t at = begin_;
        std::string bytes;
        for (const Json& entry : entries()) {
            const auto size = entry.at("bytes").get<int64_t>();
            const bool shared = entry.at("shared");
            const int64_t many = shared ? 1 : count();
            if (size < 0 || size > size_ ||
                static_cast<size_t>(many) != entry.at("checksums").size()) {
                throw RunError(path_ + " is damaged (its head)");
            }
            for (int64_t i = 0; i < many && at <= size_; ++i, at += size) {
                const int64_t replica = shared ? -1 : first() + i;
                if (!shared && (replica < begin || replica >= end)) continue;
                bytes.resize(static_cast<size_t>(size));
                file_.seekg(at);
                file_.read(bytes.data(), size);
                const auto expected = entry.at("checksums").at(static_cast<size_t>(i));
                if (!file_ || checksum(bytes.data(), bytes.size()) != expected.get<uint32_t>()) {
                    throw RunError(path_ + " is damaged (" + entry.at("name").get<std::string>() +
                                   ")");
                }
                take(entry.at("name"), replica, bytes);
            }
        }
    }

private:
    std::string path_;
    std::ifstream file_;
    int64_t size_ = 0;  ///< of the file, in bytes
    Json head_;
    int64_t begin_ = 0;
};

}  // namespace

uint32_t checksum(const void* data, size_t bytes) {
    return static_cast<uint32_t>(crc32_z(0, static_cast<const Bytef*>(data), bytes));
}

std::string part_name(int64_t rank) { return "part-" + std::to_string(rank) + ".bin"; }

size_t row_bytes(const arena::StateTable::Entry& entry) {
    const arena::Rows rows = entry.buffer.rows();
    return static_cast<size_t>(rows.stride * arena::size_of(rows.type));
}

/// The file holds: magic, length and checksum of the head, the head (JSON: entries with a checksum
/// per row), the data.
void write_part(const std::string& path, int64_t first, int64_t count,
                const arena::StateTable& state, arena::Queue& queue) {
    Json head{{"first", first}, {"count", count}, {"entries", Json::array()}};
    for (const auto& entry : state.entries()) {
        const size_t bytes = entry.data ? entry.size : row_bytes(entry);
        Json sums = Json::array();
        for_rows(entry, queue,
                 [&](const void* data, size_t size) { sums.push_back(checksum(data, size)); });
        head["entries"].push_back({{"name", entry.name},
                                   {"shared", entry.data != nullptr},
                                   {"bytes", bytes},
                                   {"checksums", std::move(sums)}});
    }
    const std::string text = head.dump();
    const uint64_t length = text.size();
    const uint32_t sum = checksum(text.data(), text.size());
    base::NewFile file("the checkpoint", path);
    file.add(kPartBegin.data(), kPartBegin.size());
    file.add(&length, sizeof length);
    file.add(&sum, sizeof sum);
    file.add(text.data(), text.size());
    for (const auto& entry : state.entries()) {
        for_rows(entry, queue, [&](const void* data, size_t size) { file.add(data, size); });
    }
    file.finish();
}

void read_part(const std::string& path, int64_t begin, int64_t end, const TakeRow& take) {
    try {
        Part(path).rows(begin, end, take);
    } catch (const Json::exception& error) {
        throw RunError(path + " is damaged (its head: " + base::reason_of(error) + ")");
    }
}

}  // namespace dbench::train
