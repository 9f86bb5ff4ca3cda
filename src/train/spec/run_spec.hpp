#pragma once
// The spec's own keys, outside its families (models, data sets, graphs, ...): what every run says.

#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/codecs/codec.hpp"
#include "algorithms/step/delays.hpp"
#include "arena/messages/codec.hpp"
#include "arena/rows.hpp"
#include "base/section.hpp"
#include "comm/exchange/exchange.hpp"
#include "train/device/device_choice.hpp"
#include "train/replicas.hpp"
#include "train/spec/checkpoint_spec.hpp"
#include "train/spec/evaluation_spec.hpp"
#include "train/spec/profile_spec.hpp"

namespace dbench::train {

/// Of every kind of random number its own, or all the same.
struct Seeds {
    uint64_t init, data, graph, augment, message, delay, dropout;
};
void take(const base::Json& value, Seeds& out);

/// How messages travel: rows of most algorithms in `rows`; those of algorithms that compress theirs
/// by `codec`.
struct MessageSpec {
    arena::Codec rows;
    std::shared_ptr<const algorithms::Codec> codec;
};
void take(const base::Json& value, MessageSpec& out);

enum class Compute : uint8_t { precision, bfloat16 };
enum class Stacking : uint8_t { off, streams, batched, automatic };
enum class ReductionChoice : uint8_t { automatic, reproducible, library };
enum class Capture : uint8_t { off, on, automatic };

struct RunSpec {
    std::string name, notes;
    int64_t replicas;
    Seeds seed;
    arena::DType precision;
    Compute compute;  ///< of models' passes
    Stacking stacking;
    DeviceChoice device;
    Capture capture;
    base::Duration length;
    Init init;
    double label_smoothing;
    std::vector<algorithms::DelayRule> delays;
    EvaluateSpec evaluate;
    ProfileSpec profile;
    bool allow_biased;    ///< a graph that does not suit the algorithm is warned of, not refused
    bool allow_unstable;  ///< nor is a pair of graph and algorithm that diverges at any rate
    ReductionChoice reduction;
    MessageSpec message;
    bool stop_on_nonfinite;
    CheckpointSpec checkpoint;
    std::string output;  ///< {name} not filled in

    static const base::Section<RunSpec>& section();
};

}  // namespace dbench::train
