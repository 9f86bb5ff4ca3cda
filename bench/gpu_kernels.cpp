// Tests and times the kernels of the arena on a GPU; kHelp describes both.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>

#include "arena/emulated_device.hpp"
#include "arena/traffic.hpp"
#include "base/error.hpp"
#include "gpu_cases.hpp"
#if DBENCH_CUDA
#include <cuda_runtime_api.h>

#include "arena/cuda/device.hpp"
#endif

namespace {

using namespace dbench;
using namespace dbench::arena;

constexpr int kNoGpu = 77;
constexpr const char* kHelp =
    R"(Compares the results of all arena kernels on a GPU with those on the host, bit by bit, or
measures their speed relative to a plain copy.

  bench_gpu_kernels check [--seed N] [--quick]       every kernel, several shapes, both precisions
  bench_gpu_kernels time [--rounds N] [--rows N] [--columns N]

--on card (default: a GPU), host, or emulated (only with check: the emulated device of the tests).
Output lines have fields separated by tabs. check: kernel, shape, precision, "same" or "differs".
time: kernel, microseconds, GB/s, share of the copy's GB/s; bytes count each row that a kernel reads
once, and each row that it writes once.

Exit status: 0 success; 1 bits differ; 2 wrong arguments; 77 no GPU.
)";

struct NoGpu : std::runtime_error {
    using std::runtime_error::runtime_error;
};

void copy_on_host(void* to, const void* from, int64_t bytes) {
    std::memcpy(to, from, static_cast<size_t>(bytes));
}

std::shared_ptr<void> host_memory(int64_t bytes) {
    const Buffer buffer(DType::float64, 0, 1, (bytes + 7) / 8);
    return {std::make_shared<Buffer>(buffer), buffer.rows().data};
}

CopiedMemory host() { return {host_memory, copy_on_host}; }

/// The device on which kernels run: its queue, its memory and its plain copy of rows. This class is
/// the host; subclasses are devices.
struct Runner {
    virtual ~Runner() = default;
    virtual Queue& queue() { return host_queue(); }
    virtual CopiedMemory place() { return host(); }
    virtual void finish() {}
    virtual void copy(void* to, const void* from, int64_t bytes) { copy_on_host(to, from, bytes); }
};

struct Emulated : Runner {
    EmulatedDevice device{1};
    Queue& queue_ = device.add_queue();
    Queue& queue() override { return queue_; }
    void finish() override { device.finish(); }
};

#if DBENCH_CUDA
void check(cudaError_t result, const char* what) {
    if (result == cudaSuccess) return;
    throw std::runtime_error(std::string(what) + " failed: " + cudaGetErrorString(result));
}

struct OnGpu : Runner {
    OnGpu() {
        int count = 0;
        const cudaError_t found = cudaGetDeviceCount(&count);
        if (found != cudaSuccess || count == 0) {
            throw NoGpu(found == cudaSuccess ? "no device" : cudaGetErrorString(found));
        }
        device.emplace(0);
    }
    Queue& queue() override { return device->place().compute(); }
    void finish() override { arena::finish(queue(), "the benchmark's clock"); }
    CopiedMemory place() override {
        const auto copy = [this](void* to, const void* from, int64_t bytes) {
            finish();
            check(cudaMemcpy(to, from, static_cast<size_t>(bytes), cudaMemcpyDefault),
                  "cudaMemcpy");
            // cudaMemcpy may return before the copy has finished.
            check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
        };
        return {device->place().memories().row_memory(), copy};
    }
    void copy(void* to, const void* from, int64_t bytes) override {
        check(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDeviceToDevice,
                              static_cast<cudaStream_t>(device->compute_stream())),
              "cudaMemcpyAsync");
    }
    std::optional<CudaDevice> device;
};

std::unique_ptr<Runner> on_gpu() { return std::make_unique<OnGpu>(); }
#else
std::unique_ptr<Runner> on_gpu() { throw NoGpu("this is a build without CUDA"); }
#endif

std::unique_ptr<Runner> runner_on(const std::string& where) {
    if (where == "card") return on_gpu();
    if (where == "emulated") return std::make_unique<Emulated>();
    if (where == "host") return std::make_unique<Runner>();
    throw base::UserError("--on " + where + ": must be card, host or emulated");
}

/// Returns a layout whose tensors are smaller than a cache line, have one element, or have several
/// blocks with a ragged end.
Layout ragged() {
    Layout layout;
    layout.add("a", {7}, TensorKind::bias);
    layout.add("b", {3, 43}, TensorKind::weight);
    layout.add("c", {}, TensorKind::norm);
    layout.add("d", {383, 24}, TensorKind::weight);
    layout.add("e", {64, kBlock / 64}, TensorKind::weight);
    layout.add("f", {10}, TensorKind::bias);
    return layout;
}

/// Returns a layout of one matrix that is as square as a height that is a power of two allows.
Layout one_tensor(int64_t columns) {
    int64_t height = 1;
    while (columns % (2 * height) == 0 && 4 * height * height <= columns) height *= 2;
    Layout layout;
    layout.add("x", {height, columns / height}, TensorKind::weight);
    return layout;
}

std::vector<Shape> shapes(bool quick) {
    const Layout small = ragged(), large = one_tensor(300001);
    const int64_t end = small.columns();
    std::vector<Shape> all = {{"ragged", small, 5, small.all()},
                              {"part of ragged", small, 5, {4096 + 16, end - 16}}};
    if (quick) return all;
    all.push_back({"a line of ragged", small, 3, {16, 32}});
    all.push_back({"one row", small, 1, small.all()});
    all.push_back({"seventeen rows", small, 17, small.all()});
    all.push_back({"300001 columns", large, 2, large.all()});
    return all;
}

/// True if the kernel leaves the same bits as on the host.
bool agrees(const Case& each, const Shape& shape, DType type, uint64_t seed, Runner& runner) {
    CaseData expected(shape, type, seed, host());
    CaseData found(shape, type, seed, runner.place());
    for (CaseData* m : {&expected, &found}) {
        for (const size_t set : each.results) m->fill_with_nan(set);
    }
    each.run(expected, host_queue());
    each.run(found, runner.queue());
    runner.finish();
    return expected.bytes() == found.bytes();
}

int check(Runner& runner, uint64_t seed, bool quick) {
    int64_t differing = 0;
    for (const Shape& shape : shapes(quick)) {
        for (const DType type : {DType::float32, DType::float64}) {
            for (const Case& each : cases()) {
                const bool same = agrees(each, shape, type, seed++, runner);
                differing += same ? 0 : 1;
                std::printf("%s\t%s\t%s\t%s\n", each.name, shape.name.c_str(),
                            type == DType::float32 ? "float32" : "float64",
                            same ? "same" : "differs");
            }
        }
        std::fflush(stdout);
    }
    return differing == 0 ? 0 : base::kExitFailed;
}

double seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

/// Calls `work` `times` times and returns the mean seconds.
template <class Work>
double timed(Runner& runner, int64_t times, const Work& work) {
    runner.finish();
    const double start = seconds();
    for (int64_t k = 0; k < times; ++k) work();
    runner.finish();
    return (seconds() - start) / static_cast<double>(times);
}

/// Returns how often to repeat work that takes `once` seconds, to measure for about 20 ms.
int64_t times_for(double once) {
    return std::clamp(static_cast<int64_t>(0.02 / once), int64_t{1}, int64_t{200});
}

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
    return values[values.size() / 2];
}

/// Alternates every kernel with a plain copy; the printed share is the median over the rounds.
void time_all(Runner& runner, int64_t rounds, int64_t rows, int64_t columns) {
    const Layout layout = one_tensor(columns);
    CaseData m({"", layout, rows, layout.all()}, DType::float32, 1, runner.place());
    const int64_t set = rows * layout.columns() * size_of(DType::float32);
    const auto copy = [&] { runner.copy(m.at(1).data, m.at(0).data, set); };
    const auto moved = [](const Traffic& t) { return static_cast<double>(t.read + t.written); };
    copy();
    const int64_t copies = times_for(timed(runner, 1, copy));
    std::vector<double> bandwidths;
    for (const Case& each : cases()) {
        const auto run = [&] { each.run(m, runner.queue()); };
        const double before = moved(total(traffic));
        run();  // includes the allocations of the first use
        const double bytes = moved(total(traffic)) - before;
        if (bytes == 0) continue;
        const int64_t times = times_for(timed(runner, 1, run));
        std::vector<double> spent, shares;
        for (int64_t round = 0; round < rounds; ++round) {
            bandwidths.push_back(2.0 * static_cast<double>(set) / timed(runner, copies, copy));
            spent.push_back(timed(runner, times, run));
            shares.push_back(bytes / spent.back() / bandwidths.back());
        }
        std::printf("%s\t%.2f\t%.1f\t%.3f\n", each.name, 1e6 * median(spent),
                    bytes / median(spent) / 1e9, median(shares));
        std::fflush(stdout);
    }
    const double bandwidth = median(bandwidths);
    std::printf("plain copy\t%.2f\t%.1f\t1.000\n", 2e6 * static_cast<double>(set) / bandwidth,
                bandwidth / 1e9);
}

/// Returns the options after the first word by name, with defaults.
std::map<std::string, std::string> options(int argc, char** argv) {
    std::map<std::string, std::string> given = {{"--on", "card"},
                                                {"--seed", "1"},
                                                {"--rounds", "5"},
                                                {"--rows", "16"},
                                                {"--columns", "2097152"}};
    for (int k = 2; k < argc; ++k) {
        const std::string name = argv[k];
        if (name == "--quick") {
            given[name] = "yes";
        } else if (given.contains(name) && k + 1 < argc) {
            given[name] = argv[++k];
        } else {
            throw base::UserError(name + ": unknown option, or its value is missing");
        }
    }
    return given;
}

int64_t number(const std::map<std::string, std::string>& given, const std::string& name) {
    const std::string& text = given.at(name);
    char* end = nullptr;
    const long long value = std::strtoll(text.c_str(), &end, 10);
    if (text.empty() || *end != '\0' || value < 1) {
        throw base::UserError(name + " " + text + ": must be a number of at least 1");
    }
    return value;
}

int run(int argc, char** argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    if (what == "-h" || what == "--help") {
        std::fputs(kHelp, stdout);
        return 0;
    }
    if (what != "check" && what != "time") {
        throw base::UserError("the first argument must be check or time (see --help)");
    }
    const auto given = options(argc, argv);
    const auto runner = runner_on(given.at("--on"));
    if (what == "check") {
        return check(*runner, static_cast<uint64_t>(number(given, "--seed")),
                     given.contains("--quick"));
    }
    if (given.at("--on") == "emulated") throw base::UserError("time: an emulation has no speed");
    time_all(*runner, number(given, "--rounds"), number(given, "--rows"),
             number(given, "--columns"));
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const NoGpu& error) {
        std::fprintf(stderr, "bench_gpu_kernels: no GPU (%s)\n", error.what());
        return kNoGpu;
    } catch (const base::UserError& error) {
        std::fprintf(stderr, "bench_gpu_kernels: %s\n", error.what());
        return base::kExitUser;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench_gpu_kernels: %s\n", error.what());
        return base::kExitFailed;
    }
}
