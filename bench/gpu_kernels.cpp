// Tests and times the kernels of the arena on a GPU; kHelp describes both.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
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
  bench_gpu_kernels time [--rounds N] [--rows N] [--columns N] [--only TEXT]

--on card (default: a GPU), host, or emulated (only with check: the emulated device of the tests).
Output lines have fields separated by tabs. check: kernel, shape, precision, "same" or "differs".
time: kernel, microseconds, GB/s, share of the copy's GB/s; bytes count each row that a kernel reads
once, and each row that it writes once. --only times the kernels whose names contain TEXT.

Exit status: 0 success; 1 bits differ, or a kernel seems to be 1.05 times as fast as the fastest of
copying and filling (a wrong measurement); 2 wrong arguments; 77 no GPU.
)";

double seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

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
    /// Calls `work` `times` times and returns the seconds that the device took for all calls.
    virtual double timed(int64_t times, const std::function<void()>& work) {
        const double start = seconds();
        for (int64_t k = 0; k < times; ++k) work();
        return seconds() - start;
    }
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
                              stream()),
              "cudaMemcpyAsync");
    }
    /// Measures between two events on the stream, so that the time is the GPU's. The host launches
    /// ahead of the GPU, which therefore has no pauses if a launch takes the host less time than
    /// the GPU needs for it.
    double timed(int64_t times, const std::function<void()>& work) override {
        check(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
        check(cudaEventRecord(begin.get(), stream()), "cudaEventRecord");
        for (int64_t k = 0; k < times; ++k) work();
        check(cudaEventRecord(end.get(), stream()), "cudaEventRecord");
        check(cudaEventSynchronize(end.get()), "cudaEventSynchronize");
        float milliseconds = 0;
        check(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), "cudaEventElapsedTime");
        return 1e-3 * static_cast<double>(milliseconds);
    }
    cudaStream_t stream() { return static_cast<cudaStream_t>(device->compute_stream()); }

    using Event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, decltype(&cudaEventDestroy)>;
    static Event new_event() {
        cudaEvent_t event = nullptr;
        check(cudaEventCreate(&event), "cudaEventCreate");
        return {event, cudaEventDestroy};
    }

    std::optional<CudaDevice> device;
    Event begin = new_event(), end = new_event();
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

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
    return values[values.size() / 2];
}

/// Work that is timed: `run(k)` is its k-th call. Successive calls use different memory, so that no
/// call finds its input in the cache.
using Work = std::function<void(int64_t)>;

/// Times work for at least `kLeast` seconds per round.
class Timer {
public:
    Timer(Runner& runner, Work work) : runner_(runner), work_(std::move(work)) {
        timed(2);  // Includes the allocations of the first use.
        const double once = std::max(timed(2) / 2, 1e-7);
        calls_ = std::clamp(static_cast<int64_t>(std::ceil(kLeast / once)), int64_t{2}, kMost);
    }
    /// Returns the seconds of one call, the mean of a round.
    double round() { return timed(calls_) / static_cast<double>(calls_); }

private:
    static constexpr double kLeast = 0.015;
    static constexpr int64_t kMost = 2000;

    double timed(int64_t calls) {
        return runner_.timed(calls, [this] { work_(next_++); });
    }

    Runner& runner_;
    Work work_;
    int64_t calls_ = 0, next_ = 0;
};

/// The share of the fastest known bandwidth above which a measurement must be wrong.
constexpr double kImpossible = 1.05;

/// Alternates every kernel with a plain copy; the printed share is the median over the rounds.
/// Returns the exit status: failed if a kernel seems to be faster than the memory.
int time_all(Runner& runner, int64_t rounds, int64_t rows, int64_t columns,
             const std::string& only) {
    const Layout layout = one_tensor(columns);
    const Shape shape{"", layout, rows, layout.all()};
    const int64_t set = rows * layout.columns() * size_of(DType::float32);
    // With two sets of inputs a call reads memory that the previous call did not touch.
    CaseData data[] = {{shape, DType::float32, 1, runner.place()},
                       {shape, DType::float32, 2, runner.place()}};
    const auto moved = [](const Traffic& t) { return static_cast<double>(t.read + t.written); };
    Timer copies(runner, [&](int64_t k) {
        CaseData& m = data[k % 2];
        runner.copy(m.at(1).data, m.at(0).data, set);
    });
    // Memory is a little faster if it is only written than if reads and writes alternate.
    Timer fills(runner,
                [&](int64_t k) { fill_zero(data[k % 2].at(1), layout.all(), runner.queue()); });
    std::vector<double> bandwidths;
    double fastest = static_cast<double>(set) / fills.round();
    int wrong = 0;
    for (const Case& each : cases()) {
        if (std::string(each.name).find(only) == std::string::npos) continue;
        const double before = moved(total(traffic));
        each.run(data[0], runner.queue());
        const double bytes = moved(total(traffic)) - before;
        if (bytes == 0) continue;
        Timer kernel(runner, [&](int64_t k) { each.run(data[k % 2], runner.queue()); });
        std::vector<double> spent, shares;
        for (int64_t round = 0; round < rounds; ++round) {
            bandwidths.push_back(2.0 * static_cast<double>(set) / copies.round());
            spent.push_back(kernel.round());
            shares.push_back(bytes / spent.back() / bandwidths.back());
            fastest = std::max(fastest, bandwidths.back());
        }
        const double share = median(shares);
        std::printf("%s\t%.2f\t%.1f\t%.3f\n", each.name, 1e6 * median(spent),
                    bytes / median(spent) / 1e9, share);
        std::fflush(stdout);
        if (bytes / median(spent) > kImpossible * fastest) ++wrong;
    }
    if (bandwidths.empty()) throw base::UserError("--only " + only + ": no kernel has this name");
    const double bandwidth = median(bandwidths);
    std::printf("plain copy\t%.2f\t%.1f\t1.000\n", 2e6 * static_cast<double>(set) / bandwidth,
                bandwidth / 1e9);
    if (wrong == 0 || runner.queue().immediate()) return 0;
    std::fprintf(stderr,
                 "bench_gpu_kernels: %d kernels seem to be faster than a plain copy: the "
                 "benchmark is wrong, or the rows fit in the cache\n",
                 wrong);
    return base::kExitFailed;
}

/// Returns the options after the first word by name, with defaults.
std::map<std::string, std::string> options(int argc, char** argv) {
    std::map<std::string, std::string> given = {{"--on", "card"},         {"--seed", "1"},
                                                {"--rounds", "5"},        {"--rows", "16"},
                                                {"--columns", "2097152"}, {"--only", ""}};
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
    return time_all(*runner, number(given, "--rounds"), number(given, "--rows"),
                    number(given, "--columns"), given.at("--only"));
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
