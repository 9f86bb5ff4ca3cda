#include <atomic>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "base/clock.hpp"
#include "catch.hpp"
#include "data/loader.hpp"
#include "data/support.hpp"

using namespace dbench;
using base::Json;
using data::Loader;
using data::Order;

namespace {

struct Setting {
    data::DataSets sets;
    std::shared_ptr<const data::Partition> partition;
    data::BatchPlan plan;
};

Setting setting(const std::string& spec_text, int64_t replicas) {
    const Json spec = test::data_spec(spec_text);
    const data::DataContext context = {replicas, 5};
    Setting s;
    s.sets = data::load_data(spec, context);
    const auto* row = base::find_entry(data::partition_table(), spec["partition"]["type"]);
    s.partition = row->make(spec["partition"], *s.sets.train, context);
    s.plan = data::plan_batches(data::DataSpec::section().read(spec).batch_size, *s.partition,
                                replicas, s.sets.train->size());
    return s;
}

// Makes batches from the definitions, without a thread.
struct Expected {
    std::vector<float> inputs;
    std::vector<int64_t> labels;
};
Expected expected(const Setting& s, int64_t t, int64_t replica, bool augment, Order order) {
    const int64_t epoch = t / s.plan.per_epoch, position = t % s.plan.per_epoch;
    const auto samples = s.partition->epoch(replica, epoch);
    const int64_t count = s.plan.full ? static_cast<int64_t>(samples.size()) : s.plan.batch_size;
    Expected out;
    for (int64_t k = 0; k < count; ++k) {
        const int64_t sample = samples[position * count + k];
        std::vector<float> one(3072);
        s.sets.train->input(sample, arena::DType::float32, order,
                            augment ? data::augment_key(9, epoch, sample) : 0, one.data());
        out.inputs.insert(out.inputs.end(), one.begin(), one.end());
        out.labels.push_back(s.sets.train->label(sample));
    }
    return out;
}

}  // namespace

TEST_CASE("the loader follows any given order, even with replicas in different epochs") {
    const auto s = setting(R"({"type": "shapes", "train": 70, "test": 1, "batch_size": 6})", 4);
    const std::vector<data::BatchRequest> order = {{3, 2}, {0, 1}, {5, 2}, {1, 1}, {2, 3}, {2, 1}};
    Loader::Options options;
    options.batch_order = [&order, k = size_t{0}]() mutable -> std::optional<data::BatchRequest> {
        if (k == order.size()) return std::nullopt;
        return order[k++];
    };
    Loader loader(s.sets.train, s.partition, s.plan, options);
    for (const data::BatchRequest& ask : order) {
        const Expected right = expected(s, ask.iteration, ask.replica, false, Order::contiguous);
        const data::Batch& batch = loader.next();
        CHECK(std::memcmp(batch.inputs, right.inputs.data(), right.inputs.size() * 4) == 0);
        CHECK(std::equal(right.labels.begin(), right.labels.end(), batch.labels));
    }
    CHECK_THROWS_AS(loader.next(), std::logic_error);
}

TEST_CASE("the batches of the loader follow the definition for any queue length") {
    const auto s = setting(R"({"type": "shapes", "train": 70, "test": 1, "batch_size": 6})", 4);
    REQUIRE(s.plan.per_epoch == 2);
    const int queue = GENERATE(0, 1, 2, 50);
    Loader::Options options;
    options.first_iteration = 1;  // Begins and ends inside an epoch.
    options.last_iteration = 6;
    options.begin = 1;
    options.end = 4;
    options.order = GENERATE(Order::contiguous, Order::channels_last);
    options.augment = true;
    options.augment_seed = 9;
    options.queue = queue;
    options.threads = queue == 1 ? 1 : 3;
    Loader loader(s.sets.train, s.partition, s.plan, options);
    for (int64_t t = 1; t < 6; ++t) {
        for (int64_t replica = 1; replica < 4; ++replica) {
            const data::Batch& batch = loader.next();
            const Expected right = expected(s, t, replica, true, options.order);
            REQUIRE(batch.count == 6);
            REQUIRE(batch.shape == std::vector<int64_t>{6, 3, 32, 32});
            REQUIRE(batch.targets == nullptr);
            CHECK(std::memcmp(batch.inputs, right.inputs.data(), right.inputs.size() * 4) == 0);
            CHECK(std::equal(right.labels.begin(), right.labels.end(), batch.labels));
        }
    }
    CHECK_THROWS_AS(loader.next(), std::logic_error);
}

TEST_CASE("Replay makes batches again, in any order") {
    const std::string size = GENERATE("6", "\"full\"");
    const auto s =
        setting(R"({"type": "shapes", "train": 70, "test": 1, "batch_size": )" + size + "}", 4);
    Loader::Options options;
    options.augment = true;
    options.augment_seed = 9;
    data::Replay replay(s.sets.train, s.partition, s.plan, options);
    for (const int64_t t : {5, 4, 1, 5, 0, 2}) {
        for (const int64_t replica : {3, 0, 2}) {
            const data::Batch& batch = replay.batch(t, replica);
            const Expected right = expected(s, t, replica, true, options.order);
            REQUIRE(batch.count == static_cast<int64_t>(right.labels.size()));
            CHECK(std::memcmp(batch.inputs, right.inputs.data(), right.inputs.size() * 4) == 0);
            CHECK(std::equal(right.labels.begin(), right.labels.end(), batch.labels));
        }
    }
}

TEST_CASE("a full batch is the whole partition") {
    const auto s = setting(R"({"type": "shapes", "train": 7, "test": 1, "batch_size": "full",
                               "partition": "contiguous"})",
                           2);
    Loader::Options options;
    options.last_iteration = 2;
    options.end = 2;
    Loader loader(s.sets.train, s.partition, s.plan, options);
    for (int64_t t = 0; t < 2; ++t) {
        for (int64_t replica = 0; replica < 2; ++replica) {
            const data::Batch& batch = loader.next();
            const Expected right = expected(s, t, replica, false, Order::contiguous);
            CHECK(batch.count == 3 + replica);
            CHECK(batch.shape.front() == 3 + replica);
            CHECK(std::memcmp(batch.inputs, right.inputs.data(), right.inputs.size() * 4) == 0);
        }
    }
}

TEST_CASE("real targets have the precision of the run") {
    const auto s = setting(R"({"type": "regression", "samples": 5, "batch_size": 2})", 2);
    Loader::Options options;
    options.type = arena::DType::float64;
    options.last_iteration = 1;
    Loader loader(s.sets.train, s.partition, s.plan, options);
    const data::Batch& batch = loader.next();
    CHECK(batch.labels == nullptr);
    CHECK(batch.shape == std::vector<int64_t>{2, 20});
    const auto samples = s.partition->epoch(0, 0);
    for (int k = 0; k < 2; ++k) {
        CHECK(static_cast<const double*>(batch.targets)[k] == s.sets.train->target(samples[k]));
    }
}

TEST_CASE("a loader can be destroyed at any moment") {
    const auto s = setting(R"({"type": "shapes", "train": 64, "test": 1, "batch_size": 8})", 2);
    Loader::Options options;
    options.last_iteration = 1000000;
    options.end = 2;
    for (int taken = 0; taken < 12; ++taken) {
        options.queue = 1 + taken % 3;
        Loader loader(s.sets.train, s.partition, s.plan, options);
        for (int k = 0; k < taken; ++k) loader.next();
    }
    SUCCEED();
}

namespace {

class Failing : public data::Dataset {
public:
    int64_t size() const override { return 8; }
    std::vector<int64_t> shape() const override { return {1}; }
    int64_t classes() const override { return 2; }
    void input(int64_t index, arena::DType, Order, uint64_t, void* out) const override {
        if (index == 5) throw base::RunError("sample 5 is gone");
        *static_cast<float*>(out) = static_cast<float>(index);
    }
    int64_t label(int64_t) const override { return 0; }
    double target(int64_t) const override { return 0; }
};

/// Samples that nobody gets before `go`.
class Slow final : public data::Dataset {
public:
    std::atomic<bool> go{false};

    int64_t size() const override { return 2; }
    std::vector<int64_t> shape() const override { return {1}; }
    int64_t classes() const override { return 2; }
    void input(int64_t, arena::DType, Order, uint64_t, void*) const override {
        while (!go) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    int64_t label(int64_t) const override { return 0; }
    double target(int64_t) const override { return 0; }
};

}  // namespace

TEST_CASE("next() rethrows an exception of the thread at its place, repeatedly") {
    const auto data = std::make_shared<Failing>();
    const auto* row = base::find_entry(data::partition_table(), "contiguous");
    const std::shared_ptr<data::Partition> partition = row->make(Json{}, *data, {1, 1});
    const auto plan =
        data::plan_batches({data::BatchSize::Unit::replica, 2}, *partition, 1, data->size());
    Loader::Options options;
    options.last_iteration = 4;
    Loader loader(data, partition, plan, options);
    CHECK(static_cast<const float*>(loader.next().inputs)[1] == 1);
    CHECK(static_cast<const float*>(loader.next().inputs)[0] == 2);
    for (int k = 0; k < 2; ++k) {
        CHECK_THROWS_WITH(loader.next(), "sample 5 is gone");
    }
}

TEST_CASE("a wait for a batch can be limited, and is checked while it lasts") {
    const auto data = std::make_shared<Slow>();
    const auto* row = base::find_entry(data::partition_table(), "contiguous");
    const std::shared_ptr<data::Partition> partition = row->make(Json{}, *data, {1, 1});
    const auto plan =
        data::plan_batches({data::BatchSize::Unit::replica, 2}, *partition, 1, data->size());
    Loader::Options options;
    options.last_iteration = 1;
    int checks = 0;
    const double before = base::now();
    options.check_wait = [&](double began) {
        CHECK(began >= before);
        if (++checks == 2) throw std::runtime_error("waited long enough");
        if (checks == 3) data->go = true;
    };
    Loader loader(data, partition, plan, options);
    CHECK_FALSE(loader.wait_for_next(0.01));
    CHECK_THROWS_WITH(loader.next(), "waited long enough");
    CHECK(loader.next().count == 2);
    CHECK(checks == 3);
}

TEST_CASE("plain batches are consecutive samples, and may be short") {
    const auto s = setting(R"({"type": "shapes", "train": 40, "test": 10})", 1);
    data::PlainBatches batches(arena::DType::float64, Order::channels_last);
    for (const auto& [first, count] : {std::pair{0, 4}, {4, 4}, {8, 2}}) {
        const data::Batch& batch = batches.fill(*s.sets.test, first, count);
        REQUIRE(batch.shape == std::vector<int64_t>{count, 3, 32, 32});
        CHECK(reinterpret_cast<uintptr_t>(batch.inputs) % 64 == 0);
        for (int k = 0; k < count; ++k) {
            const auto right = test::input_of(*s.sets.test, first + k, Order::channels_last);
            CHECK(std::memcmp(static_cast<const double*>(batch.inputs) + k * 3072, right.data(),
                              3072 * 8) == 0);
            CHECK(batch.labels[k] == s.sets.test->label(first + k));
        }
    }
}
