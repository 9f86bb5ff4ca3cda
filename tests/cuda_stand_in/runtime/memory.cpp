// Device memory and pinned memory.

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "runtime.hpp"

namespace stand_in {
namespace {

struct Block {
    size_t bytes;
    cudaMemoryType type;
    char* shadow;  // An accessible mapping of the block; equal to the address for pinned memory.
    int device;
};

std::map<char*, Block>& blocks() {
    static auto* const all = new std::map<char*, Block>;
    return *all;
}

/// Returns the bytes of a GPU's memory.
size_t all_memory() {
    static const size_t all = [] {
        const char* const mib = std::getenv("DBENCH_STAND_IN_MEMORY");
        return (mib ? std::strtoull(mib, nullptr, 10) : 65536) << 20;
    }();
    return all;
}
size_t used = 0, most_used = 0;

size_t whole_pages(size_t bytes) { return (std::max<size_t>(bytes, 1) + 4095) / 4096 * 4096; }

/// Allocates whole pages; CUDA aligns to at least 512 bytes.
cudaError_t take(void** address, size_t bytes, cudaMemoryType type) {
    const std::lock_guard lock(runtime().mutex);
    const size_t size = whole_pages(bytes);
    const bool on_card = type == cudaMemoryTypeDevice;
    if (on_card && used + size > all_memory()) {
        *address = nullptr;
        return result(cudaErrorMemoryAllocation);
    }
    char *at = nullptr, *shadow = nullptr;
    if (type == cudaMemoryTypeDevice) {
        const int file = memfd_create("stand-in", MFD_CLOEXEC);
        if (file < 0 || ftruncate(file, static_cast<off_t>(size)) != 0) std::abort();
        at = static_cast<char*>(mmap(nullptr, size, PROT_NONE, MAP_SHARED, file, 0));
        shadow =
            static_cast<char*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
        close(file);
        if (shadow == MAP_FAILED) std::abort();
    } else {
        at = shadow = static_cast<char*>(
            mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    }
    if (at == MAP_FAILED) return result(cudaErrorMemoryAllocation);
    blocks()[at] = {size, type, shadow, current_device()};
    if (on_card) most_used = std::max(most_used, used += size);
    *address = at;
    return result(cudaSuccess);
}

cudaError_t free_block(const char* call, void* address, bool host) {
    if (!address) return result(cudaSuccess);
    const std::lock_guard lock(runtime().mutex);
    const auto found = blocks().find(static_cast<char*>(address));
    if (found == blocks().end() || host != (found->second.type == cudaMemoryTypeHost)) {
        return refuse(cudaErrorInvalidValue, call, "no such memory");
    }
    const Block block = found->second;
    blocks().erase(found);
    if (block.type != cudaMemoryTypeHost) used -= block.bytes;
    if (block.shadow != address) munmap(block.shadow, block.bytes);
    munmap(address, block.bytes);
    return result(runtime().stuck);
}

std::pair<char* const, Block>* block_of(const void* address) {
    const char* const at = static_cast<const char*>(address);
    auto next = blocks().upper_bound(const_cast<char*>(at));
    if (next == blocks().begin()) return nullptr;
    auto& found = *std::prev(next);
    return at < found.first + found.second.bytes ? &found : nullptr;
}

bool fits(const void* address, size_t bytes) {
    const auto* const found = block_of(address);
    return !found ||
           static_cast<const char*>(address) + bytes <= found->first + found->second.bytes;
}

/// Returns true if `kind` agrees with the memory of the addresses.
bool kind_fits(void* to, const void* from, cudaMemcpyKind kind) {
    const auto card_only = [](const void* address) {
        const auto* const found = block_of(address);
        return found && found->second.type == cudaMemoryTypeDevice;
    };
    if (kind == cudaMemcpyHostToDevice) return !card_only(from);
    if (kind == cudaMemcpyDeviceToHost) return !card_only(to);
    if (kind == cudaMemcpyHostToHost) return !card_only(from) && !card_only(to);
    return true;
}

void copy(void* to, const void* from, size_t bytes) {
    const std::lock_guard lock(runtime().mutex);
    std::memcpy(reach(to), reach(from), bytes);
}

void fill(void* at, int value, size_t bytes) {
    const std::lock_guard lock(runtime().mutex);
    std::memset(reach(at), value, bytes);
}

cudaError_t check_copy(const char* call, void* to, const void* from, size_t bytes,
                       cudaMemcpyKind kind) {
    const std::lock_guard lock(runtime().mutex);
    if (bytes > 0 && (!to || !from)) return refuse(cudaErrorInvalidValue, call, "no address");
    if (!fits(to, bytes) || !fits(from, bytes)) {
        return refuse(cudaErrorInvalidValue, call, "beyond the end of memory");
    }
    if (!kind_fits(to, from, kind)) {
        return refuse(cudaErrorInvalidValue, call, "the addresses are not of this kind of copy");
    }
    return cudaSuccess;
}

}  // namespace

std::vector<std::string> memory_report() {
    return {"MiB at most: " + std::to_string(most_used >> 20),
            "MiB left: " + std::to_string((used + (1 << 20) - 1) >> 20)};
}

char* reach(const void* address) {
    const auto* const found = block_of(address);
    char* const at = const_cast<char*>(static_cast<const char*>(address));
    return found ? found->second.shadow + (at - found->first) : at;
}

}  // namespace stand_in

using namespace stand_in;

extern "C" {

cudaError_t cudaMalloc(void** address, size_t bytes) {
    if (const cudaError_t error = check_call(__func__)) return error;
    if (!safe(__func__)) return result(cudaErrorStreamCaptureUnsupported);
    return take(address, bytes, cudaMemoryTypeDevice);
}
cudaError_t cudaHostAlloc(void** address, size_t bytes, unsigned) {
    if (const cudaError_t error = check_call(__func__)) return error;
    if (!safe(__func__)) return result(cudaErrorStreamCaptureUnsupported);
    return take(address, bytes, cudaMemoryTypeHost);
}
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
    *pool = nullptr;
    return result(device < gpu_count() ? cudaSuccess : cudaErrorInvalidDevice);
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) {
    return result(cudaSuccess);
}
cudaError_t cudaMallocAsync(void** address, size_t bytes, cudaStream_t stream) {
    if (const cudaError_t error = check_call(__func__)) return error;
    {
        const std::lock_guard lock(runtime().mutex);
        const Stream* const on = runtime().stream(stream);
        if (!on) return refuse(cudaErrorInvalidResourceHandle, __func__, "no such stream");
        if (on->capture) {
            on->capture->broken = __func__;
            return refuse(cudaErrorStreamCaptureUnsupported, __func__,
                          "memory that only a graph would have");
        }
    }
    return take(address, bytes, cudaMemoryTypeDevice);
}
cudaError_t cudaFree(void* address) {
    if (address && !safe(__func__)) return result(cudaErrorStreamCaptureUnsupported);
    return free_block(__func__, address, false);
}
cudaError_t cudaFreeHost(void* address) {
    if (address && !safe(__func__)) return result(cudaErrorStreamCaptureUnsupported);
    return free_block(__func__, address, true);
}
cudaError_t cudaFreeAsync(void* address, cudaStream_t stream) {
    {
        const std::lock_guard lock(runtime().mutex);
        if (!runtime().stream(stream)) {
            return refuse(cudaErrorInvalidResourceHandle, __func__, "no such stream");
        }
    }
    return free_block(__func__, address, false);
}
cudaError_t cudaHostRegister(void*, size_t, unsigned) { return result(cudaSuccess); }
cudaError_t cudaHostUnregister(void*) { return result(cudaSuccess); }

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
    const std::lock_guard lock(runtime().mutex);
    *total = all_memory();
    *free = all_memory() - used;
    return result(cudaSuccess);
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* address) {
    const std::lock_guard lock(runtime().mutex);
    std::memset(attributes, 0, sizeof *attributes);
    const auto* const found = block_of(address);
    attributes->type = found ? found->second.type : cudaMemoryTypeUnregistered;
    attributes->device = found ? found->second.device : -1;
    if (found && found->second.type != cudaMemoryTypeHost) {
        attributes->devicePointer = const_cast<void*>(address);
    }
    if (found && found->second.type != cudaMemoryTypeDevice) {
        attributes->hostPointer = const_cast<void*>(address);
    }
    return result(cudaSuccess);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
    if (const cudaError_t error = check_call(__func__)) return error;
    if (const cudaError_t error = check_copy(__func__, to, from, bytes, kind)) return error;
    {
        const std::lock_guard lock(runtime().mutex);
        // CUDA may read memory that is not pinned only when the stream reaches the copy, and the
        // call returns after that.
        if (bytes > 64 << 10 && kind == cudaMemcpyHostToDevice && !block_of(from)) {
            ++runtime().counts["the host waits"];
        }
    }
    return enqueue(__func__, stream, [=](double) { copy(to, from, bytes); });
}
cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes,
                                cudaStream_t stream) {
    return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream);
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    if (const cudaError_t error = check_call(__func__)) return error;
    if (!safe(__func__)) return result(cudaErrorStreamCaptureUnsupported);
    if (const cudaError_t error = check_copy(__func__, to, from, bytes, kind)) return error;
    const cudaError_t error = enqueue(__func__, nullptr, [=](double) { copy(to, from, bytes); });
    return error ? error : cudaStreamSynchronize(nullptr);
}
cudaError_t cudaMemsetAsync(void* at, int value, size_t bytes, cudaStream_t stream) {
    if (const cudaError_t error = check_call(__func__)) return error;
    {
        const std::lock_guard lock(runtime().mutex);
        if (!block_of(at) || !fits(at, bytes)) {
            return refuse(cudaErrorInvalidValue, __func__, "not memory of a card");
        }
    }
    return enqueue(__func__, stream, [=](double) { fill(at, value, bytes); });
}
cudaError_t cudaMemset(void* at, int value, size_t bytes) {
    if (!safe(__func__)) return result(cudaErrorStreamCaptureUnsupported);
    return cudaMemsetAsync(at, value, bytes, nullptr);
}

}  // extern "C"
