#pragma once
// The top-level keys of the spec, except those of its families (models, data sets, graphs, ...).

#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/codecs/codec.hpp"
#include "algorithms/step/delays.hpp"
#include "arena/messages/element_codec.hpp"
#include "arena/rows.hpp"
#include "base/section.hpp"
#include "comm/exchange/exchange.hpp"
#include "train/device/device_choice.hpp"
#include "train/replicas.hpp"
#include "train/spec/checkpoint_spec.hpp"
#include "train/spec/evaluation_spec.hpp"
#include "train/spec/profile_spec.hpp"

namespace dbench::train {

/// One seed for each kind of random number; a single number in the spec sets all of them.
struct Seeds {
    uint64_t init, data, graph, augment, message, delay, dropout;
};

/// Returns the names of all seeds, as in the object "seed" of a spec.
std::vector<std::string> seed_names();

void read_value(const base::Json& value, Seeds& out);

/// How rows are encoded in messages: `rows` for most algorithms, `codec` for algorithms that
/// compress their messages.
struct MessageSpec {
    arena::ElementCodec rows;
    std::shared_ptr<const algorithms::Codec> codec;
};
void read_value(const base::Json& value, MessageSpec& out);

enum class Compute : uint8_t { precision, tf32, bfloat16 };
enum class Stacking : uint8_t { off, streams, batched, automatic };
enum class ReductionChoice : uint8_t { automatic, reproducible, library };
enum class Capture : uint8_t { off, on, automatic };

struct RunSpec {
    std::string name, notes;
    int64_t replicas;
    Seeds seed;
    arena::DType precision;
    Compute compute;  ///< Precision of the models' forward and backward passes.
    Stacking stacking;
    DeviceChoice device;
    GpuSharing share_gpus;
    Capture capture;
    base::Duration length;
    Init init;
    double label_smoothing;
    std::vector<algorithms::DelayRule> delays;
    EvaluateSpec evaluate;
    ProfileSpec profile;
    /// A graph that does not suit the algorithm causes a warning, not an error.
    bool allow_biased;
    /// An algorithm that diverges on the graph at any learning rate causes a warning, not an error.
    bool allow_unstable;
    /// A graph over which replicas never agree causes a warning, not an error.
    bool allow_disconnected;
    ReductionChoice reduction;
    MessageSpec message;
    bool stop_on_nonfinite;
    CheckpointSpec checkpoint;
    std::string output;  ///< The path of the result file; {name} is not yet replaced.

    static const base::Section<RunSpec>& section();
};

}  // namespace dbench::train
