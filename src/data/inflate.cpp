#include "data/inflate.hpp"

#include <zlib.h>

#include <algorithm>

namespace dbench::data {

bool inflate_exactly(std::string_view packed, uint64_t size, Packing packing, std::string& out) {
    constexpr uint64_t kMostRatio = 1100;  // deflate reaches 1032.
    constexpr uint64_t kPiece = 1 << 30;   // zlib counts in 32 bits.
    if (size / kMostRatio > packed.size() + 1) return false;
    out.resize(size);
    z_stream stream{};
    if (inflateInit2(&stream, packing == Packing::raw ? -MAX_WBITS : MAX_WBITS) != Z_OK) {
        return false;
    }
    uint64_t read = 0, written = 0;
    int state = Z_OK;
    while (state == Z_OK) {
        const auto in = static_cast<uInt>(std::min(kPiece, packed.size() - read));
        const auto space = static_cast<uInt>(std::min(kPiece, size - written));
        stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + read));
        stream.avail_in = in;
        stream.next_out = reinterpret_cast<Bytef*>(out.data() + written);
        stream.avail_out = space;
        state = inflate(&stream, Z_NO_FLUSH);
        read += in - stream.avail_in;
        written += space - stream.avail_out;
    }
    inflateEnd(&stream);
    return state == Z_STREAM_END && written == size;
}

}  // namespace dbench::data
