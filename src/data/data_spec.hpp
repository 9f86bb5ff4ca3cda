#pragma once
// The keys of /data that all data sets share.

#include <cstdint>
#include <optional>
#include <vector>

#include "base/section.hpp"

namespace dbench::data {

/// The batch of an iteration: `samples` samples per replica; `samples` samples of all replicas
/// together; the whole partition of each replica; or, per replica, pairs of sentences of similar
/// length with at most `samples` tokens per side, including padding.
struct BatchSize {
    enum class Unit : uint8_t { replica, all, partition, tokens };
    Unit unit = Unit::replica;
    int64_t samples = 0;  ///< Samples or tokens; unused for whole partitions.
};
void read_value(const base::Json& value, BatchSize& out);

/// How pixels are normalised: by the published (or measured) mean and deviation; not at all (pixel
/// / 255); or by the numbers of the spec, one for each channel or one for all.
struct Normalize {
    enum class Kind : uint8_t { standard, unit, given };
    Kind kind = Kind::standard;
    std::vector<double> mean = {}, deviation = {};  ///< Only if `given`.
};
void read_value(const base::Json& value, Normalize& out);

/// The location of training images: the device, the host, or (`automatic`) the device if they fit.
enum class Resident : uint8_t { automatic, on, off };

/// How many samples are used, from the beginning of the file order; empty: all.
struct DataLimit {
    std::optional<int64_t> train, test;
    static const base::Section<DataLimit>& section();
};

struct DataSpec {
    BatchSize batch_size;
    int64_t accumulate;  ///< Number of micro-batches of a batch.
    int64_t validation;
    bool augment;
    int64_t threads;
    Resident resident;
    Normalize normalize;
    DataLimit limit;
    static const base::Section<DataSpec>& section();
};

}  // namespace dbench::data
