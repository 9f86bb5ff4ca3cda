#pragma once
// Training algorithms: what happens around the gradient of one iteration. Each is one file that
// reads like its paper.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "arena/state.hpp"
#include "comm/exchange.hpp"
#include "graphs/certificate.hpp"
#include "train/control.hpp"
#include "train/optimizers/optimizer.hpp"
#include "train/probe.hpp"
#include "train/timers.hpp"

namespace dbench::train {

/// One iteration as an algorithm sees it. x and g are the local replicas' parameters and gradients;
/// the round is the schedule's for this iteration.
struct Step {
    int64_t t;
    StepNumbers numbers;
    graphs::Round round;
    arena::Rows x, g;
    const arena::Layout& layout;
    comm::Exchange& exchange;
    Optimizer& optimizer;
    Timers& timers;
    Probe& probe;
    Control& control;
    int more_rounds = 0;  ///< averagings beside the first, see mix_again

    /// out = base - lr d(g, at), in `columns`.
    void update(arena::Rows out, arena::Rows base, arena::Rows at, arena::Columns columns);
    comm::Token start_mix(arena::Rows rows, arena::Columns columns);
    void finish_mix(const comm::Token& token, arena::Rows out);
    void mix(arena::Rows rows, arena::Rows out);  ///< blocking, all columns
    /// After the iteration's averaging into `rows`: averages again, in place, for as long as the
    /// schedule's controller asks for it.
    void mix_again(arena::Rows rows);
};

/// What one iteration sent (design.md, section 7), over all replicas.
struct Sent {
    bool averaged = false;  ///< parameters were averaged with the round's matrix
    int64_t rounds = 0;     ///< averagings of parameters
    double degree = 0;
    int64_t messages = 0;
    double rows = 0;  ///< rows of parameters sent
};

enum class GraphNeed { none, doubly_stochastic };

class Algorithm {
public:
    virtual ~Algorithm() = default;
    /// Declares its state; called once, before the first step.
    virtual void declare(arena::StateTable&) {}
    /// Before the gradient is taken at x.
    virtual void before_forward(Step&) {}
    /// Inside the last local replica's backward: the gradients in `columns` are complete on all
    /// local replicas, and backward will not read these columns of x again.
    virtual void ready(Step&, arena::Columns) {}
    virtual void after_backward(Step&) {}
    virtual Sent sent(graphs::Round round) const = 0;
    /// Rows of parameter size it keeps per replica beside x and g, for memory estimates.
    virtual int extra_rows() const { return 0; }
    /// Whether it calls Step::mix_again; its averagings of an iteration are then alike.
    virtual bool mixes_again() const { return false; }
    /// Whether whole received rows stay in memory while the gradient is taken (AWC).
    virtual bool keeps_received_rows() const { return false; }
};

struct AlgorithmContext {
    int64_t replicas;
    const graphs::Schedule* schedule;  ///< null for those that need none
};

struct AlgorithmEntry : base::Entry {
    GraphNeed need;
    std::unique_ptr<Algorithm> (*make)(const base::Json& spec, const AlgorithmContext& context);
};
const std::vector<AlgorithmEntry>& algorithm_table();

/// What mixing with the schedule's rounds sends; remembers rounds that repeat.
class MixingCost {
public:
    explicit MixingCost(const graphs::Schedule* schedule) : schedule_(schedule) {}
    const comm::RoundCost& of(graphs::Round round) const;

private:
    const graphs::Schedule* schedule_;
    mutable std::vector<std::pair<uint64_t, comm::RoundCost>> known_;
    mutable comm::RoundCost last_{};
};

std::unique_ptr<Algorithm> make_centralized(const base::Json& spec,
                                            const AlgorithmContext& context);
std::unique_ptr<Algorithm> make_dsgd(const base::Json& spec, const AlgorithmContext& context);

}  // namespace dbench::train
