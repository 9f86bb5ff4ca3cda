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

}  // namespace dbench::algorithms
