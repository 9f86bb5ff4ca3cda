#include <algorithm>
#include <numeric>
#include <set>

#include "base/random.hpp"
#include "catch.hpp"
#include "data/loader.hpp"
#include "data/numbered_set.hpp"
#include "data/support.hpp"

using namespace dbench;
using base::Json;
using test::refusal;
using Samples = std::vector<int64_t>;

namespace {

std::unique_ptr<data::Partition> make(const base::Json& spec, int64_t samples, int64_t replicas,
                                      uint64_t seed = 1) {
    return test::partition_of(spec, test::ten_labels(samples), replicas, seed);
}

data::BatchSize size_of(const Json& value) {
    data::BatchSize size;
    read_value(value, size);
    return size;
}

// True if samples beyond n floor(N/n) belong to no replica.
bool equal_sizes(const std::string& type) { return type == "dirichlet" || type == "by_label"; }

}  // namespace

TEST_CASE("an epoch of every partition contains each sample at most once") {
    for (const auto& row : data::partition_table()) {
        if (row.name == "file") continue;  // tests/program/test_own_data.py has its tests.
        Json spec = {{"type", row.name}};
        if (row.name == "by_label") spec["labels_per_replica"] = 1;
        for (const auto& [samples, replicas] : {std::pair{103, 8}, {16, 16}, {5, 7}, {10, 1}}) {
            const auto partition = make(spec, samples, replicas);
            const int64_t least = samples / replicas;
            for (const int64_t epoch : {0, 3}) {
                std::set<int64_t> seen;
                int64_t taken = 0;
                for (int64_t i = 0; i < replicas; ++i) {
                    const Samples mine = partition->epoch(i, epoch);
                    CHECK(static_cast<int64_t>(mine.size()) == partition->size(i));
                    const int64_t more = partition->size(i) - least;
                    CHECK((more == 0 || (more == 1 && !equal_sizes(row.name))));
                    seen.insert(mine.begin(), mine.end());
                    taken += partition->size(i);
                }
                CHECK(static_cast<int64_t>(seen.size()) == taken);
                CHECK((seen.empty() || (*seen.begin() >= 0 && *seen.rbegin() < samples)));
                CHECK(taken == (equal_sizes(row.name) ? replicas * least : samples));
            }
        }
    }
}

TEST_CASE("contiguous: floor(iN/n) .. floor((i+1)N/n)-1 in file order") {
    const auto partition = make("contiguous", 10, 4);
    CHECK(partition->epoch(0, 0) == Samples{0, 1});
    CHECK(partition->epoch(1, 0) == Samples{2, 3, 4});
    CHECK(partition->epoch(2, 5) == Samples{5, 6});
    CHECK(partition->epoch(3, 5) == Samples{7, 8, 9});
}

TEST_CASE("shuffled: positions i, i+n, ... of one permutation per epoch") {
    const auto partition = make("shuffled", 11, 3, 42);
    for (const int64_t epoch : {4, 0, 4}) {
        base::Random random(42, base::Purpose::shuffle, {static_cast<uint64_t>(epoch)});
        const Samples order = base::permutation(11, random);
        CHECK(partition->epoch(0, epoch) == Samples{order[0], order[3], order[6], order[9]});
        CHECK(partition->epoch(2, epoch) == Samples{order[2], order[5], order[8]});
    }
    CHECK(partition->epoch(0, 0) != partition->epoch(0, 1));
    CHECK(partition->epoch(0, 0) != make("shuffled", 11, 3, 43)->epoch(0, 0));
}

TEST_CASE("iid keeps the split and changes the order") {
    const auto partition = make("iid", 1000, 4);
    const auto as_set = [](const Samples& s) { return std::set<int64_t>(s.begin(), s.end()); };
    const Samples first = partition->epoch(1, 0), second = partition->epoch(1, 1);
    CHECK(first != second);
    CHECK(as_set(first) == as_set(second));
    CHECK(first == make("iid", 1000, 4)->epoch(1, 0));
    CHECK(as_set(first) != as_set(make("iid", 1000, 4, 2)->epoch(1, 0)));
    // The split is random and not a block of the file: the mean sample number is that of the whole
    // set.
    const double mean = std::accumulate(first.begin(), first.end(), 0.0) / 250;
    CHECK(std::abs(mean - 499.5) < 80);  // Four standard deviations.
}

TEST_CASE("iid changes the order of each replica's samples in another way") {
    const auto partition = make("iid", 1000, 4);
    // Returns the places in epoch 0 of the samples of epoch 1.
    const auto moved = [&](int64_t replica) {
        const Samples before = partition->epoch(replica, 0);
        Samples places;
        for (const int64_t sample : partition->epoch(replica, 1)) {
            places.push_back(std::find(before.begin(), before.end(), sample) - before.begin());
        }
        return places;
    };
    CHECK(moved(0) == moved(0));
    CHECK(moved(0) != moved(1));
    CHECK(moved(2) != moved(3));
}

TEST_CASE("class_dirichlet distributes each label over few replicas if alpha is small") {
    const int64_t samples = 4000, replicas = 16;
    const auto set = test::ten_labels(samples);
    // The number of labels of which a replica has more than 1 % of its samples, a mean.
    const auto labels = [&](double alpha, int64_t auxiliary) {
        const auto partition = test::partition_of(
            {{"type", "class_dirichlet"}, {"alpha", alpha}, {"auxiliary", auxiliary}}, set,
            replicas, 1);
        int64_t found = 0;
        for (int64_t i = 0; i < replicas; ++i) {
            REQUIRE(partition->size(i) == samples / replicas);
            std::vector<int64_t> count(10);
            for (const int64_t sample : partition->epoch(i, 0)) ++count[set.label(sample)];
            for (const int64_t each : count) found += each > samples / replicas / 100;
        }
        return static_cast<double>(found) / static_cast<double>(replicas);
    };
    CHECK(labels(1000, 10) == 10);
    CHECK(labels(1, 10) < 9);
    CHECK(labels(1, 10) > 5);
    CHECK(labels(0.1, 10) < 5);
    CHECK(labels(0.01, 10) < 3);
    CHECK(labels(0.01, 10) >= 1);
    // A single replica as its own group has a random part of all labels.
    CHECK(labels(0.01, 1) == 10);
    CHECK_THAT(
        refusal([&] { labels(1e-6, 16); }),
        Catch::Matchers::ContainsSubstring("/data/partition/alpha: 1e-06 leaves some of 16"));
}

TEST_CASE("a batch plan divides the smallest partition") {
    const auto partition = make("contiguous", 103, 4);  // Sizes 25, 26, 26, 26.
    const auto plan = data::plan_batches(size_of(8), *partition, 4, 103);
    CHECK(plan.batch_size == 8);
    CHECK_FALSE(plan.full);
    CHECK(plan.per_epoch == 3);
    CHECK(plan.samples_per_iteration == 32);
    CHECK(plan.left_out == Catch::Approx(1 - 96.0 / 103));

    const auto global = data::plan_batches(size_of({{"global", 40}}), *partition, 4, 103);
    CHECK(global.batch_size == 10);
    CHECK(global.per_epoch == 2);

    const auto full = data::plan_batches(size_of("full"), *partition, 4, 103);
    CHECK(full.full);
    CHECK(full.batch_size == 25);
    CHECK(full.per_epoch == 1);
    CHECK(full.left_out == 0);
    CHECK(full.samples_per_iteration == 103);
}

TEST_CASE("samples that belong to no replica count as left out") {
    const auto partition = make({{"type", "dirichlet"}, {"alpha", 1000.0}}, 103, 4);
    const auto plan = data::plan_batches(size_of(5), *partition, 4, 103);
    CHECK(plan.left_out == Catch::Approx(1 - 100.0 / 103));
    CHECK(data::plan_batches(size_of("full"), *partition, 4, 103).left_out ==
          Catch::Approx(1 - 100.0 / 103));
    const auto empty = make({{"type", "by_label"}, {"labels_per_replica", 1}}, 5, 7);
    CHECK(refusal([&] {
              data::plan_batches(size_of(1), *empty, 7, 5);
          }).find("(5 for 7 replicas)") != std::string::npos);
}

TEST_CASE("impossible batch sizes are refused") {
    const auto partition = make("contiguous", 103, 4);
    const auto refused = [&](const Json& size) {
        return refusal([&] { data::plan_batches(size_of(size), *partition, 4, 103); });
    };
    CHECK(refused(26) ==
          "/data/batch_size: a batch of 26 is more than the 25 training samples of replica 0: "
          "use at most 25, or \"full\"");
    CHECK(refused(Json{{"global", 42}}) ==
          "/data/batch_size/global: 42 samples cannot be divided evenly among 4 replicas: "
          "the nearest possible number is 40 or 44");
    CHECK(refused(Json{{"global", 104}}) ==
          "/data/batch_size/global: a batch of 26 is more than the 25 training samples of replica "
          "0: use at most 100, or \"batch_size\": \"full\"");
    CHECK(refused(Json{{"global", 2}}).ends_with("the nearest possible number is 4"));
    const auto empty = make("contiguous", 3, 4);
    CHECK(refusal([&] { data::plan_batches(size_of("full"), *empty, 4, 3); }) ==
          "/replicas: replica 0 gets no training samples (3 for 4 replicas): "
          "use fewer replicas or more data");
}
