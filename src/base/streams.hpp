#pragma once
// Registry of the random streams that share one Purpose (random.hpp). A purpose that several
// functions draw from has an enum here, with one number per stream; random_stream() puts that
// number first among the words of the stream's key.
//
// A number is never changed and never used again for another stream, because the results of
// existing specs depend on it. A new stream gets the next free number. tests/base/streams_test.cpp
// checks that the numbers stay as they are and that all streams differ.

#include <cstdint>

#include "base/random.hpp"

namespace dbench::base {

/// Streams of Purpose::graph that generate graphs from the spec's graph seed. Each has a second
/// word: the number of the attempt for a static graph, and the iteration (or a number derived from
/// it) for a graph that changes over time.
enum class GraphStream : uint64_t {
    exponential_sampled = 1,   ///< One-peer exponential graph, order "sampled".
    exponential_permuted = 2,  ///< One-peer exponential graph, order "permuted".
    erdos_renyi = 3,
    random_regular = 4,
    epidemic = 5,  ///< A new random regular graph in every iteration.
    random_matching = 6,
    random_pairs = 7,
    watts_strogatz = 8,
    equitopo_offsets = 9,      ///< The offsets of every EquiTopo graph.
    equitopo_directed = 10,    ///< The offset that OD-EquiDyn uses in an iteration.
    equitopo_undirected = 11,  ///< The offset and first replica that OU-EquiDyn uses.
    matcha_active = 12,        ///< The matchings that MATCHA activates in an iteration.
};

/// Streams of Purpose::graph that generate the start vectors of numerical methods. Their seed is
/// 0, so that a certificate does not depend on the spec's seeds, and they have no second word, so
/// that no key equals one of a GraphStream.
enum class ProbeStream : uint64_t {
    finite_time = 0,  ///< Probe columns of the proof of a finite-time average.
    lanczos = 1,      ///< First vector of the Lanczos iteration.
    long_chain = 2,   ///< Vectors that estimate the norm of a product of matrices.
    stability = 3,    ///< First deviations of the measured growth factor (`dbench conform`).
};

/// Streams of Purpose::partition. All have a second word, which is 0 if nothing else is named. The
/// partition `iid` uses the key of Purpose::partition without words.
enum class PartitionStream : uint64_t {
    dirichlet_shares = 1,  ///< Second word: the replica.
    dirichlet_labels = 2,  ///< Second word: the replica.
    dirichlet_samples = 3,
    by_label_samples = 4,
    by_label_order = 5,
    by_label_shards = 6,  ///< Second word: the round of dealing.
    class_dirichlet_samples = 7,
    class_dirichlet_shares = 8,  ///< Second word: the group of replicas.
};

/// Streams of Purpose::shapes. Second word: the number of the image.
enum class ShapesStream : uint64_t { train = 0, test = 1 };

/// Streams of Purpose::regression that generate the data set `regression`.
enum class RegressionStream : uint64_t {
    train_sample = 0,    ///< Further words: the replica, the sample.
    test_sample = 1,     ///< Second word: the sample.
    own_optimum = 2,     ///< Second word: the replica.
    common_optimum = 3,  ///< No second word.
};

/// Streams of Purpose::regression that generate the test problems of `dbench conform`. Their
/// numbers overlap with those of RegressionStream for historical reasons; `dbench conform` does not
/// read that data set, so no program uses both.
enum class ProblemStream : uint64_t {
    quadratics = 1,      ///< Second word: the replica.
    softmax = 2,         ///< Second word: the replica.
    gradient_noise = 3,  ///< Further words: the iteration, the replica.
    start = 4,           ///< Second word: the replica.
    relabelling = 5,     ///< The permutation of replicas. No second word.
};

/// Streams of Purpose::placement. The placement "random" uses the key without words.
enum class PlacementStream : uint64_t {
    search = 1,  ///< Random starts of the search for a cheap placement. No second word.
};

constexpr Purpose purpose_of(GraphStream) { return Purpose::graph; }
constexpr Purpose purpose_of(ProbeStream) { return Purpose::graph; }
constexpr Purpose purpose_of(PartitionStream) { return Purpose::partition; }
constexpr Purpose purpose_of(ShapesStream) { return Purpose::shapes; }
constexpr Purpose purpose_of(RegressionStream) { return Purpose::regression; }
constexpr Purpose purpose_of(ProblemStream) { return Purpose::regression; }
constexpr Purpose purpose_of(PlacementStream) { return Purpose::placement; }

/// Returns the random stream whose key is made of `seed`, the purpose of `stream`, its number, and
/// the words that the comment of the enumerator names.
template <class Stream, class... Words>
Random random_stream(uint64_t seed, Stream stream, Words... words) {
    return {
        seed, purpose_of(stream), {static_cast<uint64_t>(stream), static_cast<uint64_t>(words)...}};
}

}  // namespace dbench::base
