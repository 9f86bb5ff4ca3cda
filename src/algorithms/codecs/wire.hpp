#pragma once
// Numbers in a message, whose bytes are not aligned.

#include <cstdint>
#include <cstring>

namespace dbench::algorithms {

template <class T>
T read_at(const char* message, int64_t index) {
    T value;
    std::memcpy(&value, message + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
    return value;
}
template <class T>
void write_at(char* message, int64_t index, T value) {
    std::memcpy(message + index * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

/// Whole numbers of up to 32 bits, one after another, lowest bit first.
class BitWriter {
public:
    explicit BitWriter(char* to) : to_(to) {}
    void put(uint32_t value, int bits) {
        held_ |= static_cast<uint64_t>(value) << count_;
        for (count_ += bits; count_ >= 8; count_ -= 8) {
            *to_++ = static_cast<char>(held_ & 0xff);
            held_ >>= 8;
        }
    }
    void flush() {
        if (count_ > 0) *to_ = static_cast<char>(held_);
    }

private:
    char* to_;
    uint64_t held_ = 0;
    int count_ = 0;
};

class BitReader {
public:
    explicit BitReader(const char* from) : from_(from) {}
    uint32_t get(int bits) {
        for (; count_ < bits; count_ += 8) {
            held_ |= static_cast<uint64_t>(static_cast<unsigned char>(*from_++)) << count_;
        }
        const auto value = static_cast<uint32_t>(held_ & ((uint64_t{1} << bits) - 1));
        held_ >>= bits;
        count_ -= bits;
        return value;
    }

private:
    const char* from_;
    uint64_t held_ = 0;
    int count_ = 0;
};

}  // namespace dbench::algorithms
