#pragma once
// The folder `device`: where a rank's replicas train, on the host or on a GPU. One device serves a
// rank for a whole run.
//
// Order of events: make_device() chooses the device, collectively. DeviceScope (device_scope.hpp)
// makes it the World's place: rows are then allocated in its memory and kernels launched on its
// queues; its connect() lets NCCL carry rows. The passes (train/passes) then run LibTorch through
// Device::submit() and Device::capture(). gpu_facts.hpp queries CUDA about the GPUs of this
// machine.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arena/device/place.hpp"
#include "arena/device/queue.hpp"
#include "arena/device/step_queue.hpp"
#include "comm/world/world.hpp"
#include "train/device/device_choice.hpp"

namespace dbench::train {

/// LibTorch's work as a device has captured it: the same operations on the same memory, whatever
/// that memory holds. A replay costs the host one launch; LibTorch does nothing on the host.
class CapturedWork {
public:
    virtual ~CapturedWork() = default;
    /// Launches the work once more, ordered after all that is on its queue.
    virtual void replay() = 0;
    /// Orders all later launches on `queue` after part `part` (counted from 0) of the last replay.
    virtual void order(int64_t part, arena::Queue& queue) = 0;
};

/// The host. Classes for other devices override what differs. The thread that trains makes all
/// calls.
class Device {
public:
    virtual ~Device() = default;

    /// The device's name, as the result file stores it in /ranks/device.
    virtual std::string name() const { return "cpu"; }
    /// Returns why the run uses the host although a GPU was preferred; "" if no GPU was preferred.
    virtual std::string fallback_reason() const { return ""; }
    /// True if replicas train on the host, where all work runs at once; other devices have queues.
    virtual bool is_host() const { return place().immediate(); }
    /// The queues on which this rank launches its computations, and the device's memory.
    virtual arena::Place place() const { return arena::host_place(); }
    /// LibTorch's index of the GPU; none if LibTorch's tensors are in the host's memory.
    virtual std::optional<int> gpu() const { return std::nullopt; }
    /// Identifies the GPU in its host, for the result file: its bus id and its UUID. "" if gpu() is
    /// none.
    virtual std::string gpu_address() const { return ""; }
    /// The largest number of ranks of the run that compute on the same GPU; 1 if each has its own,
    /// and on the host.
    virtual int ranks_per_gpu() const { return 1; }
    /// The device's memory in bytes, for all ranks that compute on it together. memory_info()
    /// returns none if it is the host's memory.
    struct MemoryInfo {
        int64_t all, free;
    };
    virtual std::optional<MemoryInfo> memory_info() const { return std::nullopt; }
    /// Lets convolutions and matrix products in float32 round their factors to TF32 (11 bits of
    /// precision), or not. A host has no TF32.
    virtual void allow_tf32(bool /*allowed*/) {}
    /// Releases the memory that LibTorch caches and does not use now.
    virtual void release_cached_memory() {}
    /// Settings of the device that can change results, as names and values for the result file.
    virtual std::vector<std::pair<std::string, std::string>> settings() const { return {}; }
    /// Queues in addition to the step's queue, which the passes of replicas share in turn. Empty if
    /// passes on them could not run concurrently.
    virtual std::vector<arena::Queue*> side_queues() { return {}; }
    /// The queue that copies minibatches to the device while it computes; null if no copy is
    /// needed.
    virtual arena::Queue* upload_queue() { return nullptr; }
    /// Buckets of fewer bytes are not worth launches and messages of their own while the rest of a
    /// gradient is being computed.
    virtual int64_t min_bucket_bytes() const { return 64 << 10; }
    /// The compute queue, if a part of a step can run concurrently with the rest of it; else null.
    virtual arena::StepQueue* step_queue() { return nullptr; }

    /// Submits LibTorch's `work`, which touches the memory that accesses() lists. On the host it
    /// runs at once. Otherwise it runs ordered after all that is on `queue`, and everything it
    /// refers to must live until then.
    template <class Accesses, class Work>
    void submit(const char* name, const Accesses& accesses, const Work& work, arena::Queue& queue) {
        if (queue.immediate()) return work();
        launch(queue, name, accesses(), work);
    }
    /// Submits the work to the compute queue.
    template <class Accesses, class Work>
    void submit(const char* name, const Accesses& accesses, const Work& work) {
        submit(name, accesses, work, place().compute());
    }
    /// True if submitted work may start after the submission has returned. Otherwise `work` runs
    /// before that, and the kernels that it launches itself are ordered after the part of `work`
    /// before them.
    bool runs_later() const {
        const arena::Queue& queue = place().compute();
        return !queue.immediate() && queue.emulated();
    }

    /// The work being captured calls it at the end of each of its parts; null if nobody needs the
    /// ends.
    using EndPart = std::function<void()>;
    /// Captures LibTorch's `work` for `queue`, which must not be immediate. The capture records the
    /// work and does not execute it. Part k of the work and the parts after it touch the memory
    /// that parts[k] lists. Memory that LibTorch allocates in the work is reserved for its replays.
    /// Random numbers follow the seed of LibTorch's generator at each replay. Throws RunError if
    /// the device cannot capture the work; nothing has changed then.
    virtual std::unique_ptr<CapturedWork> capture(const char* name,
                                                  std::vector<std::vector<arena::Access>> parts,
                                                  std::function<void(const EndPart& ends)> work,
                                                  arena::Queue& queue);

private:
    virtual void launch(arena::Queue& queue, const char* name, std::vector<arena::Access> accesses,
                        std::function<void()> work);
};

/// The host as a device, for functions that get no other one.
Device& host_device();

/// The GPU that a rank would use, or why it has none.
struct GpuClaim {
    std::string obstacle;  ///< why the rank has no GPU, and what to try; "" if it has one
    std::string gpu;       ///< identifies the GPU among all GPUs of all hosts
    int number;            ///< its index among the GPUs that the rank's process sees
};
/// Returns why these ranks cannot have a GPU each, and what to try; "" if they can, or if they may
/// share GPUs and each rank has one.
std::string refusal_of(const std::vector<GpuClaim>& claims, GpuSharing sharing);

/// The purpose of a device.
enum class DevicePurpose {
    training,
    planning  ///< nothing is computed: a host without a GPU may plan for one
};
/// Makes the device that the spec requests for this rank. A rank uses the GPU whose index is its
/// number on its host, modulo the number of GPUs that it sees. "auto" is a GPU if each rank has a
/// GPU of its own, or may share one, else the host. Collective. Throws UserError on all ranks if
/// "cuda" is requested and refusal_of() the ranks is not empty.
std::unique_ptr<Device> make_device(DeviceChoice wanted, GpuSharing sharing, comm::World& world,
                                    DevicePurpose use = DevicePurpose::training);

/// True if this program was built with CUDA.
bool cuda_built();
/// Returns the version of LibTorch.
std::string torch_version();
/// Returns "not built", "built (CUDA 13.0), no device (why)" or "built (CUDA 13.0), 4 devices:
/// NVIDIA ...".
std::string cuda_status();
/// Returns facts about the GPUs as pairs of name and text: driver, cuDNN, each GPU, and which GPUs
/// cannot access each other's memory. Empty if this program was built without CUDA.
std::vector<std::pair<std::string, std::string>> gpu_facts();

/// Returns the number of threads of one rank: OMP_NUM_THREADS, or 1 if that is not set. Throws
/// UserError if it is not a number that a host can start.
int threads_of_environment();
/// Sets the number of threads of one rank's tensor operations to OMP_NUM_THREADS, or to 1 if that
/// is not set (docs/numerics.md, rule 1). Returns that number.
int use_threads();

}  // namespace dbench::train
