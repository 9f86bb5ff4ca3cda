// Tests of the order that queues and events define.

#include "arena/emulated_device.hpp"
#include "arena/kernels.hpp"
#include "arena/messages/coded_sums.hpp"
#include "arena/messages/element_codec.hpp"
#include "arena/random_rows.hpp"
#include "catch.hpp"

namespace dbench::arena {
namespace {

TEST_CASE("two accesses overlap if they have a byte in common") {
    constexpr int64_t kBytes = 60;
    const char memory[kBytes] = {};
    base::Random random(1, base::Purpose::graph);
    const auto draw = [&](std::vector<bool>& touched) {
        const int64_t rows = 1 + static_cast<int64_t>(random.below(3));
        const int64_t bytes = static_cast<int64_t>(random.below(8));
        const int64_t stride = bytes + static_cast<int64_t>(random.below(9));
        const int64_t room = kBytes - (rows - 1) * stride - bytes;
        const int64_t begin = static_cast<int64_t>(random.below(static_cast<uint64_t>(room + 1)));
        for (int64_t i = 0; i < rows; ++i) {
            for (int64_t c = 0; c < bytes; ++c) touched[begin + i * stride + c] = true;
        }
        return Access{memory + begin, rows, stride, bytes, false};
    };
    int both = 0;
    for (int k = 0; k < 2000; ++k) {
        std::vector<bool> a(kBytes), b(kBytes);
        const Access first = draw(a), second = draw(b);
        bool common = false;
        for (int64_t c = 0; c < kBytes; ++c) common = common || (a[c] && b[c]);
        REQUIRE(overlap(first, second) == common);
        both += common;
    }
    CHECK(both > 200);
    CHECK(both < 1800);
}

/// Two iterations of ATC in two buckets, for a rank with three replicas that each have a neighbour
/// on another rank. The update runs on one queue, messages on another, norms on a third.
struct Step {
    Layout layout;
    std::vector<Columns> buckets;
    ReadOnlyArray<double> decay = std::vector<double>{0.1, 0};
    Buffer x, gradient, velocity, sent, received;
    std::vector<double> squared;

    Step() {
        layout.add("a", {1000}, TensorKind::weight);
        layout.add("b", {517}, TensorKind::weight);
        buckets = {{1008, layout.columns()}, {0, 1008}};
        x = random_rows(layout, DType::float32, 3, 1);
        gradient = random_rows(layout, DType::float32, 3, 2);
        velocity = random_rows(layout, DType::float32, 3, 3);
        sent = random_rows(layout, DType::float32, 3, 4);
        received = random_rows(layout, DType::float32, 3, 5);
        squared.resize(3 * layout.segments().size());
    }

    void run(Queue& compute, Queue& messages, Queue& norms) {
        const auto await = [](Queue& later, Queue& earlier) { order(earlier, later, "of a step"); };
        for (int t = 0; t < 2; ++t) {
            for (const Columns bucket : buckets) {
                sgd_update(layout, x.rows(), x.rows(), x.rows(), gradient.rows(), velocity.rows(),
                           bucket, {0.1, 0.9, false, decay}, nullptr, compute);
                await(norms, compute);
                squares(layout, x.rows(), bucket, squared.data(), norms);
                await(messages, compute);
                copy(x.rows(), sent.rows(), bucket, messages);
                copy(sent.rows(), received.rows(), bucket, messages);
                await(compute, messages);
                await(compute, norms);
                weighted_means(terms(), x.rows(), bucket, compute);
            }
        }
    }

    /// Returns a ring of the local rows, plus the row received for each.
    std::vector<std::vector<Term>> terms() const {
        std::vector<std::vector<Term>> all(3);
        for (int64_t i = 0; i < 3; ++i) {
            all[i] = {{x.rows().at(i, 0), 0.5},
                      {x.rows().at((i + 1) % 3, 0), 0.25},
                      {received.rows().at((i + 2) % 3, 0), 0.25}};
        }
        return all;
    }
    void run(EmulatedDevice& device) {
        Queue& compute = device.add_queue();
        Queue& messages = device.add_queue();
        run(compute, messages, device.add_queue());
    }
    bool operator==(const Step& other) const {
        return squared == other.squared && same_bits(x.rows(), other.x.rows()) &&
               same_bits(velocity.rows(), other.velocity.rows()) &&
               same_bits(received.rows(), other.received.rows());
    }
};

TEST_CASE("a step on three queues gives the host's bits in a hundred legal orders") {
    Step host;
    host.run(host_queue(), host_queue(), host_queue());
    bool same = true;
    for (uint64_t seed = 0; seed < 100; ++seed) {
        Step step;
        EmulatedDevice device(seed);
        step.run(device);
        if (seed == 0) CHECK(device.conflicts() == std::vector<std::string>{});
        device.finish();
        same = same && step == host;
    }
    CHECK(same);
}

TEST_CASE(
    "each wait of a step is needed: without it, two launches access the same memory unordered") {
    Step step;
    EmulatedDevice whole(1);
    step.run(whole);
    REQUIRE(whole.waits() == 16);
    for (int64_t forgotten = 0; forgotten < whole.waits(); ++forgotten) {
        EmulatedDevice device(1, forgotten);
        Step().run(device);
        INFO("wait " << forgotten);
        CHECK(!device.conflicts().empty());
    }
    EmulatedDevice device(1, 2);  // Without this wait the mixing of the first bucket is not ordered
                                  // after its messages.
    step.run(device);
    CHECK(
        device.conflicts() ==
        std::vector<std::string>{"copy (queue 1, launch 0) and weighted_sums (queue 0, launch 1)",
                                 "copy (queue 1, launch 1) and weighted_sums (queue 0, launch 1)"});
}

TEST_CASE("an omitted wait changes the bits in some order") {
    Step host;
    host.run(host_queue(), host_queue(), host_queue());
    bool same = true;
    for (uint64_t seed = 0; seed < 100; ++seed) {
        Step step;
        EmulatedDevice device(seed, 2);
        step.run(device);
        device.finish();
        same = same && step == host;
    }
    CHECK(!same);
}

TEST_CASE("a queue keeps the order of its launches with any number of events") {
    const Buffer x(DType::float32, 0, 1, 16), y(DType::float32, 0, 1, 16);
    EmulatedDevice device(3);
    Queue& queue = device.add_queue();
    Queue& other = device.add_queue();
    for (int round = 0; round < 2; ++round) {
        std::fill_n(x.rows().row<float>(0), 16, 1.0F);
        scale(x.rows(), {0, 16}, 3, queue);
        order(queue, other, "scaled");
        copy(x.rows(), y.rows(), {0, 16}, other);
        order(other, queue, "copied");
        order(other, queue, "copied");
        fill_zero(x.rows(), {0, 16}, queue);
        CHECK(device.conflicts().empty());
        device.finish();
        CHECK(y.rows().row<float>(0)[5] == 3);
        CHECK(x.rows().row<float>(0)[5] == 0);
    }
}

TEST_CASE("after a wait the host sees the launches and all launches that they are ordered after") {
    const Buffer x(DType::float32, 0, 1, 16), y(DType::float32, 0, 1, 16);
    EmulatedDevice device(4);
    Queue& queue = device.add_queue();
    Queue& other = device.add_queue();
    float* const first = x.rows().row<float>(0);
    std::fill_n(first, 16, 1.0F);
    scale(x.rows(), {0, 16}, 3, queue);
    CHECK(first[5] == 1);  // The launch has not run yet.
    order(queue, other, "scaled");
    finish(other, "nothing of its own");
    CHECK(first[5] == 3);
    copy(x.rows(), y.rows(), {0, 16}, queue);
    CHECK(device.conflicts().empty());
    device.touch("the host", writes(first, 4));
    CHECK(device.conflicts() == std::vector<std::string>{"copy (queue 0, launch 1) and the host"});
    device.omit_wait("copied");
    finish(queue, "copied");
    CHECK(y.rows().row<float>(0)[5] == 0);
    finish(queue, "copied, once more");
    CHECK(y.rows().row<float>(0)[5] == 3);
    CHECK(device.reasons() ==
          std::set<std::string>{"scaled", "nothing of its own", "copied", "copied, once more"});
}

TEST_CASE("memory is kept alive until earlier launches have run") {
    EmulatedDevice device(5);
    Queue& queue = device.add_queue();
    auto x = std::make_shared<Buffer>(DType::float32, 0, 1, 16);
    const std::weak_ptr<Buffer> still(x);
    scale(x->rows(), {0, 16}, 3, queue);
    keep(queue, std::move(x));
    CHECK(!still.expired());
    finish(queue, "scaled");
    CHECK(still.expired());
}

TEST_CASE("a read-only array is copied to a device once for all queues while it lives") {
    Step step;
    EmulatedDevice device(6);
    Queue& queue = device.add_queue();
    Queue& other = device.add_queue();
    const auto norms = [&](const Layout& layout, Queue& on) {
        squares(layout, step.x.rows(), layout.all(), step.squared.data(), on);
        order(on, &on == &queue ? other : queue, "norms");
    };
    norms(step.layout, queue);
    const Layout same = step.layout;
    norms(same, other);
    CHECK(device.copies() == 1);  // The segments.
    weighted_means(step.terms(), step.x.rows(), step.layout.all(), queue);
    CHECK(device.copies() == 6);  // A plan's rows, weights, first terms, distinct rows and which
                                  // of them each term uses.
    finish(queue, "all");
    finish(other, "all");
    {
        Layout passing;
        passing.add("a", {1000}, TensorKind::weight);
        norms(passing, queue);
    }
    finish(queue, "all");
    finish(other, "all");
    CHECK(device.copies() == 7);
    norms(step.layout, queue);
    CHECK(device.copies() == 7);
}

TEST_CASE("an idle device drops a copy whose owner was destroyed before the launch that reads it") {
    EmulatedDevice device(7);
    Queue& queue = device.add_queue();
    auto values = std::make_shared<const std::vector<char>>(16, char{1});
    const auto* const copy =
        static_cast<const char*>(queue.device_copy(values, values->data(), 16));
    CHECK(copy[15] == 1);
    const std::weak_ptr<const void> still(values);
    queue.launch({"reads it", {}, 0, nullptr});
    finish(queue, "all");
    CHECK(!still.expired());
    values.reset();
    CHECK(!still.expired());
    queue.launch({"comes too late", {}, 0, nullptr});
    CHECK(still.expired());
}

TEST_CASE("a mean of words as the first launch of an idle device reads its own terms") {
    constexpr int64_t kCount = 100;
    std::vector<float> x(kCount), here(kCount), there(kCount);
    std::vector<uint16_t> words(kCount);
    for (int64_t c = 0; c < kCount; ++c) x[c] = 0.1F * static_cast<float>(c);
    encode(ElementCodec::bfloat16, DType::float32, x.data(), words.data(), kCount);
    const std::vector<CodedTerm> terms = {{words.data(), 0.75}};
    const auto mean = [&](float* out, Queue& queue) {
        coded_mean(ElementCodec::bfloat16, DType::float32, x.data(), terms, false, out, kCount,
                   queue);
    };
    mean(here.data(), host_queue());
    EmulatedDevice device(8);
    Queue& queue = device.add_queue();
    mean(there.data(), queue);
    finish(queue, "the mean");
    CHECK(here == there);
}

}  // namespace
}  // namespace dbench::arena
