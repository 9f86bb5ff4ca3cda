// Tests rows over NCCL between GPUs; kHelp describes the test.

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/random.hpp"
#include "comm/nccl/nccl_transport.hpp"
#include "comm/transport/launcher.hpp"
#include "comm/world/world.hpp"
#if DBENCH_CUDA
#include <cuda_runtime_api.h>

#include "arena/cuda/device.hpp"
#endif

namespace {

using namespace dbench;

constexpr int kNoGpu = 77;
constexpr const char* kHelp =
    R"(Tests rows over NCCL between GPUs, one rank per GPU. Every rank sends random rows to the next
rank (a single rank to itself) and takes part in a sum over all ranks. It uses the transport of
training and compares bits.

  bench_gpu_messages [ROUNDS]      default: 20; start it with mpirun -n N for N GPUs

Exit status: 0 success; 1 NCCL failed, or received bits differ; 2 wrong arguments; 77 no GPU.
)";

#if DBENCH_CUDA
constexpr int64_t kCount = 1 << 20;  // elements of a row

void expect(cudaError_t result, const char* what) {
    if (result == cudaSuccess) return;
    throw base::RunError(std::string(what) + " failed: " + cudaGetErrorString(result));
}

/// Returns random whole numbers, whose sums are exact in any order.
std::vector<float> row_of(int rank, int round) {
    base::Random random(1, base::Purpose::message,
                        {static_cast<uint64_t>(rank), static_cast<uint64_t>(round)});
    std::vector<float> values(kCount);
    for (float& value : values) value = static_cast<float>(random.below(1000));
    return values;
}

void wait(comm::Transfer& transfer) {
    while (!transfer.test()) {
    }
}

struct Row {
    std::shared_ptr<void> memory;
    explicit Row(const arena::Memory& from) : memory(from(kCount * sizeof(float))) {}
    void set(const std::vector<float>& values) {
        expect(cudaMemcpy(memory.get(), values.data(), kCount * sizeof(float), cudaMemcpyDefault),
               "cudaMemcpy");
        // cudaMemcpy may return before the copy has finished.
        expect(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }
    std::vector<float> get() const {
        std::vector<float> values(kCount);
        expect(cudaMemcpy(values.data(), memory.get(), kCount * sizeof(float), cudaMemcpyDefault),
               "cudaMemcpy");
        return values;
    }
};

bool one_round(comm::World& world, comm::RowTransport& plane, Row& from, Row& to, int round) {
    const int ranks = world.size(), me = world.rank();
    const int next = (me + 1) % ranks, before = (me + ranks - 1) % ranks;
    const auto bytes = static_cast<int64_t>(kCount * sizeof(float));
    const std::vector<float> nothing(kCount, -1.0f);
    from.set(row_of(me, round));
    to.set(nothing);
    const comm::Message out{next, round, from.memory.get(), bytes};
    const comm::Message in{before, round, to.memory.get(), bytes};
    wait(*plane.start({&out, 1}, {&in, 1}));
    bool good = to.get() == row_of(before, round);
    to.set(nothing);
    wait(*plane.start_sum(arena::DType::float32, from.memory.get(), to.memory.get(), kCount));
    std::vector<float> sum(kCount);
    for (int rank = 0; rank < ranks; ++rank) {
        const std::vector<float> row = row_of(rank, round);
        for (size_t c = 0; c < sum.size(); ++c) sum[c] += row[c];
    }
    good = good && to.get() == sum;
    return good;
}

int exchange(comm::World& world, int rounds) {
    int cards = 0;
    if (cudaGetDeviceCount(&cards) != cudaSuccess || cards == 0) {
        std::fprintf(stderr, "bench_gpu_messages: no GPU\n");
        return kNoGpu;
    }
    const int card = world.local_rank() % cards;  // some launchers show each rank only its own GPU
    arena::CudaDevice device(card);
    const auto queue_on = [&](comm::CudaStream* stream) { return device.queue_on(stream); };
    const auto plane =
        comm::join_nccl(world, {comm::load_nccl(), comm::load_cuda(), queue_on}, card);
    const arena::Memory& memory = device.place().memories().row_memory();
    Row from(memory), to(memory);
    bool good = true;
    for (int round = 0; round < rounds; ++round) {
        good = one_round(world, *plane, from, to, round) && good;
    }
    std::printf("rank %d of %d: %d rounds over NCCL: %s\n", world.rank(), world.size(), rounds,
                good ? "same" : "differs");
    return good ? 0 : base::kExitFailed;
}
#else
int exchange(comm::World&, int) {
    std::fprintf(stderr, "bench_gpu_messages: no GPU (this is a build without CUDA)\n");
    return kNoGpu;
}
#endif

}  // namespace

int main(int argc, char** argv) {
    const std::string first = argc > 1 ? argv[1] : "20";
    if (first == "-h" || first == "--help") {
        std::fputs(kHelp, stdout);
        return 0;
    }
    const int rounds = std::atoi(first.c_str());
    if (argc > 2 || rounds < 1) {
        std::fprintf(stderr, "bench_gpu_messages: ROUNDS must be at least 1 (see --help)\n");
        return base::kExitUser;
    }
    try {
        comm::World world{comm::launch()};
        return exchange(world, rounds);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench_gpu_messages: %s\n", error.what());
        return base::kExitFailed;
    }
}
