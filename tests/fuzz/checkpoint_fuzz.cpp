// Fuzz target for a part of a checkpoint. Input that begins with the magic number is used
// unchanged. Other input gets a valid magic number, length and checksum: its bytes up to the first
// NUL become the head, and the rest the rows.

#include "fuzz.hpp"
#include "train/checkpoints/checkpoint_part.hpp"

namespace dbench::fuzz {
namespace {

const std::string kMagic = "DBCKPT01";

template <class T>
std::string bytes(T value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

}  // namespace

const char* const kWords[] = {"DBCKPT01",      "\"first\":", "\"count\":",
                              "\"entries\":[", "\"bytes\":", "\"checksums\":[",
                              "4294967295",    "-1",         "9223372036854775807",
                              "null",          "true",       nullptr};

void read(const std::string& input) {
    std::string content = input;
    if (!input.starts_with(kMagic)) {
        const std::string head = input.substr(0, input.find('\0'));
        content = kMagic + bytes(uint64_t{head.size()}) +
                  bytes(train::checksum(head.data(), head.size())) + input;
    }
    const std::string path = in_file(content, train::part_name(0));
    train::read_part(path, 0, 4, [](const std::string&, int64_t, const std::string&) {});
}

}  // namespace dbench::fuzz
