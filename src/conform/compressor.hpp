#pragma once
// The compression operator Q of the dense references: it applies the production codec to every
// tensor of every row. Conformance checks the algorithm around the codec; codecs have their own
// tests. Internal to this module.

#include "algorithms/codecs/codec.hpp"
#include "conform/reference.hpp"

namespace dbench::conform {

/// Compresses rows with the codec of a spec.
class Compressor {
public:
    /// `message` has the form of the spec's key `message`.
    Compressor(const base::Json& message, int64_t parameters, uint64_t seed);

    /// Returns Q(v_i) for every row i, as message `part` of iteration t.
    Matrix compress(const Matrix& v, int64_t t, int part) const;
    /// Returns the bytes of a message divided by the bytes of a row.
    double share() const;
    /// True if a codec's messages depend on the sender in addition to their content.
    static bool keyed(const base::Json& message);

private:
    arena::Layout layout_;
    std::unique_ptr<algorithms::Coder> coder_;
    uint64_t seed_;
};

}  // namespace dbench::conform
