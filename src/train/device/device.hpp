#pragma once
// Where a rank's replicas train: on the host, or on a card. One device serves a rank for a run;
// rows, queues and LibTorch's tensors are its own.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arena/device/queue.hpp"
#include "arena/device/step_queue.hpp"
#include "arena/rows.hpp"
#include "comm/world/world.hpp"
#include "train/device/device_choice.hpp"

namespace dbench::train {

/// LibTorch's work that a device has taken down: the same operations on the same memory, whatever
/// stands there, without LibTorch's own part on the host.
class Captured {
public:
    virtual ~Captured() = default;
    /// Does it once more, behind what is on its queue.
    virtual void put() = 0;
    /// What is launched on `queue` from now on begins after part `part`, counted from 0, of what
    /// was put last.
    virtual void order(int64_t part, arena::Queue& queue) = 0;
};

/// The host; others override what differs.
class Device {
public:
    virtual ~Device() = default;

    /// As /ranks/device of the result file has it.
    virtual std::string name() const { return "cpu"; }
    /// Why it is the host where a card would have been taken; "" where none was looked for.
    virtual std::string instead_of_card() const { return ""; }
    /// Whether replicas train on the host, at once; on others by queues.
    virtual bool is_host() const { return !queues().compute; }
    /// Where what this rank computes is launched; no queues: at once.
    virtual arena::Queues queues() const { return {}; }
    /// Where rows lie, and who reaches them there; null: in the host's memory.
    virtual arena::Memory memory() const { return nullptr; }
    virtual arena::Space space() const { return arena::Space::host; }
    /// Where the arena's Values lie, and what else the host reaches; null: where rows do.
    virtual arena::Memory values_memory() const { return nullptr; }
    /// The number that LibTorch knows the card by; none: its tensors are the host's.
    virtual std::optional<int> card() const { return std::nullopt; }
    /// Memory in bytes; none where it is the host's.
    struct Room {
        int64_t all, free;
    };
    virtual std::optional<Room> room() const { return std::nullopt; }
    /// Memory that LibTorch keeps for later, and nothing uses now, is free again for others.
    virtual void give_back() {}
    /// How it computes where that is not all the same, as names and values for the result file.
    virtual std::vector<std::pair<std::string, std::string>> settings() const { return {}; }
    /// Queues beside that of the step, which passes of replicas may share among them; none where
    /// they would only come one after another.
    virtual std::vector<arena::Queue*> side_queues() { return {}; }
    /// A queue for what comes to the device beside what is computed; null where nothing has to.
    virtual arena::Queue* upload_queue() { return nullptr; }
    /// What is not worth launches and messages of its own, while the rest of a gradient is on its
    /// way.
    virtual int64_t least_bucket_bytes() const { return 64 << 10; }
    /// The compute queue, where some of a step may run beside the rest; else null.
    virtual arena::StepQueue* step_queue() { return nullptr; }

    /// Does LibTorch's `work`, which touches what accesses() lists: on the host at once; elsewhere
    /// behind what is on `queue`, the compute queue where it is null, so that all it needs has to
    /// live on until then.
    template <class Accesses, class Work>
    void put(const char* name, const Accesses& accesses, const Work& work,
             arena::Queue* queue = nullptr) {
        if (!queue) queue = queues().compute;
        if (!queue) return work();
        launch(*queue, name, accesses(), work);
    }
    /// Whether work that was put may begin after `put` has returned; else launches made inside it
    /// come behind the part of it that was done before them.
    bool begins_later() const {
        const arena::Queue* const queue = queues().compute;
        return queue && queue->emulated();
    }

    /// What captured work calls at the end of each of its parts; null where nobody asks.
    using PartEnds = std::function<void()>;
    /// Takes down LibTorch's `work`, for a queue of a device that has them, the compute queue where
    /// it is null. It touches what parts[k] lists in its part k and later; it is not done by that.
    /// Memory that it takes for itself is kept for the next times. Random numbers follow the seed
    /// that the generator has when the work is put. Throws RunError where the device cannot; then
    /// nothing has changed.
    virtual std::unique_ptr<Captured> capture(const char* name,
                                              std::vector<std::vector<arena::Access>> parts,
                                              std::function<void(const PartEnds& ends)> work,
                                              arena::Queue* queue = nullptr);

private:
    virtual void launch(arena::Queue& queue, const char* name, std::vector<arena::Access> accesses,
                        std::function<void()> work);
};

/// The host, for whoever has no other.
Device& host_device();

/// The card that a rank would have, or why there is none.
struct CardClaim {
    std::string obstacle;  ///< with the remedy; "" where there is none
    std::string card;      ///< tells it apart from all others
    int number;            ///< among those that the rank's process sees
};
/// Why these ranks cannot have a card each; "" where they can.
std::string refusal_of(const std::vector<CardClaim>& claims);

/// What a device is made for.
enum class Use {
    training,
    planning  ///< nothing is computed: a host without cards may plan for one
};
/// What the spec asks for, for this rank: of the cards that it sees the one that the rank's number
/// on its host says, or starts anew to say where they are fewer. "auto" is a card where each rank
/// has one of its own, else the host. Collective. Throws UserError on all ranks where "cuda" is
/// asked for and that is not so.
std::unique_ptr<Device> make_device(DeviceChoice wanted, comm::World& world,
                                    Use use = Use::training);

/// Whether this program was built with CUDA.
bool cuda_built();
std::string torch_version();
/// "not built", "built, no device" or "built, 4 devices: NVIDIA ...".
std::string cuda_status();
/// What there is to train on, as lines of a name and a text: driver, cards, which of them reach
/// each other's memory. Empty where this program was built without CUDA.
std::vector<std::pair<std::string, std::string>> card_facts();

/// Threads of one rank's tensor operations: OMP_NUM_THREADS where set, else one
/// (docs/numerics.md, rule 1). Returns the number.
int use_threads();

}  // namespace dbench::train
