#pragma once
// Q as the references take it: whatever the codec makes of a message, tensor by tensor. What is
// compared is the algorithm around it; codecs have tests of their own. Internal to this room.

#include "algorithms/codecs/codec.hpp"
#include "conform/reference.hpp"

namespace dbench::conform {

class Compressor {
public:
    /// `message` as a spec has it.
    Compressor(const base::Json& message, int64_t parameters, uint64_t seed);

    /// Q(v_i) for every row i, as message `part` of iteration t.
    Matrix compress(const Matrix& v, int64_t t, int part) const;
    /// Bytes of a message, as a share of those of a row.
    double share() const;
    /// Whether messages depend on who sends them, beside what they are made of.
    static bool keyed(const base::Json& message);

private:
    arena::Layout layout_;
    std::unique_ptr<algorithms::Coder> coder_;
    uint64_t seed_;
};

}  // namespace dbench::conform
