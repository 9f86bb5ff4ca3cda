// The numbers of random streams are part of every published result: these tests pin them.

#include "base/streams.hpp"

#include <map>
#include <optional>
#include <string>

#include "catch.hpp"

namespace dbench::base {
namespace {

// The pinned_number functions have no default case: the compiler refuses two streams with the same
// number (duplicate case) and reports a stream that is missing here (-Wswitch).

std::optional<uint64_t> pinned_number(GraphStream stream) {
    switch (stream) {
        case GraphStream::exponential_sampled:
            return 1;
        case GraphStream::exponential_permuted:
            return 2;
        case GraphStream::erdos_renyi:
            return 3;
        case GraphStream::random_regular:
            return 4;
        case GraphStream::epidemic:
            return 5;
        case GraphStream::random_matching:
            return 6;
        case GraphStream::random_pairs:
            return 7;
        case GraphStream::watts_strogatz:
            return 8;
        case GraphStream::equitopo_offsets:
            return 9;
        case GraphStream::equitopo_directed:
            return 10;
        case GraphStream::equitopo_undirected:
            return 11;
        case GraphStream::matcha_active:
            return 12;
    }
    return std::nullopt;
}

std::optional<uint64_t> pinned_number(ProbeStream stream) {
    switch (stream) {
        case ProbeStream::finite_time:
            return 0;
        case ProbeStream::lanczos:
            return 1;
        case ProbeStream::long_chain:
            return 2;
        case ProbeStream::stability:
            return 3;
    }
    return std::nullopt;
}

std::optional<uint64_t> pinned_number(PartitionStream stream) {
    switch (stream) {
        case PartitionStream::dirichlet_shares:
            return 1;
        case PartitionStream::dirichlet_labels:
            return 2;
        case PartitionStream::dirichlet_samples:
            return 3;
        case PartitionStream::by_label_samples:
            return 4;
        case PartitionStream::by_label_order:
            return 5;
        case PartitionStream::by_label_shards:
            return 6;
        case PartitionStream::class_dirichlet_samples:
            return 7;
        case PartitionStream::class_dirichlet_shares:
            return 8;
    }
    return std::nullopt;
}

std::optional<uint64_t> pinned_number(ShapesStream stream) {
    switch (stream) {
        case ShapesStream::train:
            return 0;
        case ShapesStream::test:
            return 1;
    }
    return std::nullopt;
}

std::optional<uint64_t> pinned_number(RegressionStream stream) {
    switch (stream) {
        case RegressionStream::train_sample:
            return 0;
        case RegressionStream::test_sample:
            return 1;
        case RegressionStream::own_optimum:
            return 2;
        case RegressionStream::common_optimum:
            return 3;
    }
    return std::nullopt;
}

std::optional<uint64_t> pinned_number(ProblemStream stream) {
    switch (stream) {
        case ProblemStream::quadratics:
            return 1;
        case ProblemStream::softmax:
            return 2;
        case ProblemStream::gradient_noise:
            return 3;
        case ProblemStream::start:
            return 4;
        case ProblemStream::relabelling:
            return 5;
    }
    return std::nullopt;
}

std::optional<uint64_t> pinned_number(PlacementStream stream) {
    switch (stream) {
        case PlacementStream::search:
            return 1;
    }
    return std::nullopt;
}

constexpr uint64_t kEnd = 100;  // above every number

// Checks the numbers of one enum and adds the keys of its streams, for the seed 0 and these further
// words, to `keys`.
template <class Stream, class... Words>
void check_streams(std::map<uint64_t, std::string>& keys, const std::string& name, int count,
                   Words... words) {
    int found = 0;
    for (uint64_t number = 0; number < kEnd; ++number) {
        const auto stream = static_cast<Stream>(number);
        const std::optional<uint64_t> pinned = pinned_number(stream);
        if (!pinned) continue;
        ++found;
        CAPTURE(name, number);
        CHECK(*pinned == number);
        const std::string text = name + " " + std::to_string(number);
        const auto [at, is_new] = keys.emplace(random_stream(0, stream, words...).key(), text);
        INFO("the same key as " << at->second);
        CHECK(is_new);
    }
    CHECK(found == count);
}

}  // namespace

TEST_CASE("Random streams keep their numbers, and no two have the same key") {
    std::map<uint64_t, std::string> keys;
    check_streams<ProbeStream>(keys, "ProbeStream", 4);
    check_streams<PlacementStream>(keys, "PlacementStream", 1);
    for (const uint64_t word : {0, 1, 2, 3}) {
        CAPTURE(word);
        check_streams<GraphStream>(keys, "GraphStream", 12, word);
        check_streams<PartitionStream>(keys, "PartitionStream", 8, word);
        check_streams<ShapesStream>(keys, "ShapesStream", 2, word);
        check_streams<RegressionStream>(keys, "RegressionStream", 4, word);
    }
    std::map<uint64_t, std::string> conform_keys;  // may equal those of RegressionStream
    check_streams<ProblemStream>(conform_keys, "ProblemStream", 5);
}

TEST_CASE("A stream's key is made of the seed, the purpose, its number and further words") {
    CHECK(random_stream(7, GraphStream::erdos_renyi, int64_t{5}).key() ==
          Random(7, Purpose::graph, {3, 5}).key());
    CHECK(random_stream(0, ProbeStream::lanczos).key() == Random(0, Purpose::graph, {1}).key());
    CHECK(random_stream(7, PartitionStream::by_label_order, 0).key() ==
          Random(7, Purpose::partition, {5, 0}).key());
    CHECK(random_stream(7, ShapesStream::test, 2).key() ==
          Random(7, Purpose::shapes, {1, 2}).key());
    CHECK(random_stream(7, RegressionStream::train_sample, 1, 2).key() ==
          Random(7, Purpose::regression, {0, 1, 2}).key());
    CHECK(random_stream(7, ProblemStream::gradient_noise, 4, 2).key() ==
          Random(7, Purpose::regression, {3, 4, 2}).key());
    CHECK(random_stream(7, PlacementStream::search).key() ==
          Random(7, Purpose::placement, {1}).key());
}

}  // namespace dbench::base
