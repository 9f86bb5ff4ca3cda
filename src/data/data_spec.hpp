#pragma once
// The keys of /data that every data set takes beside its own.

#include <cstdint>
#include <optional>

#include "base/section.hpp"

namespace dbench::data {

/// What an iteration takes: so many samples of each replica, so many of all replicas together,
/// each replica's whole partition, or of each replica as many pairs of sentences of one length as
/// make so many tokens.
struct BatchSize {
    enum class Of : uint8_t { replica, all, partition, tokens };
    Of of = Of::replica;
    int64_t samples = 0;  ///< or tokens; nothing to say of whole partitions
};
void take(const base::Json& value, BatchSize& out);

enum class Normalize : uint8_t { standard, unit };
/// Whether training images lie on the device.
enum class Resident : uint8_t { any, on, off };

/// How many samples are taken from the beginning of the file order; nothing: all.
struct DataLimit {
    std::optional<int64_t> train, test;
    static const base::Section<DataLimit>& section();
};

struct DataSpec {
    BatchSize batch_size;
    int64_t accumulate;  ///< parts of a batch that pass the model one after another
    int64_t validation;
    bool augment;
    int64_t threads;
    Resident resident;
    Normalize normalize;
    DataLimit limit;
    static const base::Section<DataSpec>& section();
};

}  // namespace dbench::data
