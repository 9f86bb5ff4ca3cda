// Compares each graph with a separate construction from its definition.

#include "base/error.hpp"
#include "dense.hpp"

using namespace dbench;
using namespace dbench::graphs;
using namespace dbench::graphs::testing;

namespace {

using Eigen::MatrixXd;

// Returns Metropolis weights of an adjacency matrix without self (multiplicities are ignored).
MatrixXd metropolis_definitions(const MatrixXd& adjacency) {
    const auto n = adjacency.rows();
    MatrixXd w = MatrixXd::Zero(n, n);
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
            if (i == j || adjacency(i, j) == 0) continue;
            const double a = (adjacency.row(i).array() != 0).count();
            const double b = (adjacency.row(j).array() != 0).count();
            w(i, j) = 1 / (1 + std::max(a, b));
        }
    }
    for (int i = 0; i < n; ++i) w(i, i) = 1 - w.row(i).sum();
    return w;
}

int wrap_definitions(int i, int n) { return ((i % n) + n) % n; }

MatrixXd ring_definitions(int n) {
    MatrixXd a = MatrixXd::Zero(n, n);
    for (int i = 0; i < n; ++i)
        a(i, wrap_definitions(i + 1, n)) = a(i, wrap_definitions(i - 1, n)) = 1;
    a.diagonal().setZero();
    return metropolis_definitions(a);
}

MatrixXd torus(int n) {
    int r = 1;
    for (int d = 1; d <= n; ++d) {
        if (n % d == 0 && d * d <= n) r = d;
    }
    const int c = n / r;
    MatrixXd a = MatrixXd::Zero(n, n);
    for (int i = 0; i < r; ++i) {
        for (int j = 0; j < c; ++j) {
            a(i * c + j, wrap_definitions(i + 1, r) * c + j) = 1;
            a(i * c + j, wrap_definitions(i - 1, r) * c + j) = 1;
            a(i * c + j, i * c + wrap_definitions(j + 1, c)) = 1;
            a(i * c + j, i * c + wrap_definitions(j - 1, c)) = 1;
        }
    }
    a.diagonal().setZero();
    return metropolis_definitions(a);
}

MatrixXd exponential(int n) {
    MatrixXd w = MatrixXd::Zero(n, n);
    int tau = 0;
    for (int power = 1; power < n; power *= 2) ++tau;
    for (int i = 0; i < n; ++i) {
        w(i, i) = 1.0 / (tau + 1);
        for (int power = 1; power < n; power *= 2)
            w(wrap_definitions(i + power, n), i) = 1.0 / (tau + 1);
    }
    return w;
}

MatrixXd one_peer(int n, int k) {
    MatrixXd w = MatrixXd::Identity(n, n) / 2;
    for (int i = 0; i < n; ++i) w(wrap_definitions(i + (1 << k), n), i) += 0.5;
    return w;
}

MatrixXd lattice(int n, int k) {
    if (k >= n - 1) return average(n);
    MatrixXd w = MatrixXd::Zero(n, n);
    for (int i = 0; i < n; ++i) {
        for (int o = -k / 2; o <= k / 2; ++o) w(i, wrap_definitions(i + o, n)) = 1.0 / (k + 1);
    }
    return w;
}

MatrixXd star(int n) {
    MatrixXd w = MatrixXd::Identity(n, n) * (1 - 1.0 / n);
    w.row(0).setConstant(1.0 / n);
    w.col(0).setConstant(1.0 / n);
    return w;
}

}  // namespace

TEST_CASE("static graphs match their definitions", "[graphs]") {
    for (int n = 1; n <= 70; ++n) {
        INFO("n = " << n);
        CHECK(distance(dense("ring", n), ring_definitions(n)) < 1e-14);
        CHECK(distance(dense("torus", n), torus(n)) < 1e-14);
        CHECK(distance(dense("exponential", n), exponential(n)) < 1e-14);
        CHECK(distance(dense("complete", n), average(n)) < 1e-14);
        CHECK(distance(dense("star", n), star(n)) < 1e-14);
        for (const int k : {2, 4, 8, 30}) {
            const auto spec = R"({"type":"ring_lattice","k":)" + std::to_string(k) + "}";
            CHECK(distance(dense(spec, n), lattice(n, k)) < 1e-14);
        }
    }
}

TEST_CASE("one-peer exponential visits offset 2^(t mod tau)", "[graphs]") {
    for (const int n : {2, 3, 4, 5, 6, 8, 12, 31, 32, 33}) {
        int tau = 0;
        while ((1 << tau) < n) ++tau;
        for (int64_t t = 0; t < 2 * tau; ++t) {
            INFO("n = " << n << ", t = " << t);
            CHECK(distance(dense("one_peer_exponential", n, t), one_peer(n, t % tau)) < 1e-15);
        }
    }
}

TEST_CASE("one-peer exponential: permuted takes every round once per tau, sampled is uniform",
          "[graphs]") {
    const int n = 24;  // tau = 5
    const auto permuted = make(R"({"type":"one_peer_exponential","order":"permuted"})", n);
    bool changes = false;
    for (int64_t cycle = 0; cycle < 40; ++cycle) {
        std::vector<int> count(5, 0);
        for (int64_t t = 0; t < 5; ++t) {
            const auto id = permuted->at(5 * cycle + t).matrix;
            ++count.at(id);
            changes |= id != static_cast<uint64_t>(t);
            CHECK(distance(dense(*permuted, {id, true}), one_peer(n, static_cast<int>(id))) <
                  1e-15);
        }
        CHECK(count == std::vector<int>(5, 1));
    }
    CHECK(changes);

    const auto sampled = make(R"({"type":"one_peer_exponential","order":"sampled"})", n);
    std::vector<double> count(5, 0);
    const int draws = 10000;
    for (int64_t t = 0; t < draws; ++t) ++count.at(sampled->at(t).matrix);
    double chi = 0;
    for (const double c : count) chi += (c - draws / 5.0) * (c - draws / 5.0) / (draws / 5.0);
    CHECK(chi < 23.5);  // 4 degrees of freedom, one in ten thousand
}

TEST_CASE("lazy blends with the identity", "[graphs]") {
    for (const int n : {2, 5, 16}) {
        const MatrixXd blended = 0.75 * MatrixXd::Identity(n, n) + 0.25 * ring_definitions(n);
        CHECK(distance(dense(R"({"type":"ring","lazy":0.25})", n), blended) < 1e-15);
        const MatrixXd half = 0.5 * MatrixXd::Identity(n, n) + 0.5 * one_peer(n, 0);
        CHECK(distance(dense(R"({"type":"one_peer_exponential","lazy":0.5})", n), half) < 1e-15);
    }
}

TEST_CASE("Erdos-Renyi: connected, right density, Metropolis weights", "[graphs]") {
    double edges = 0;
    double pairs = 0;
    for (const int n : {8, 40, 200}) {
        for (uint64_t seed = 1; seed <= 20; ++seed) {
            const auto w = dense(*make(R"({"type":"erdos_renyi","p":0.4})", n, seed), {0, true});
            MatrixXd a = w;
            a.diagonal().setZero();
            CHECK(distance(w, metropolis_definitions(a)) < 1e-14);
            if (n < 40) continue;  // conditioning on connectedness matters only for small n
            edges += static_cast<double>((a.array() != 0).count()) / 2;
            pairs += n * (n - 1) / 2.0;
        }
    }
    // Binomial with about 414,000 trials: four standard deviations.
    CHECK(edges / pairs == Approx(0.4).margin(4 * std::sqrt(0.24 / pairs)).epsilon(0));
    CHECK(distance(dense(R"({"type":"erdos_renyi","p":1})", 9), average(9)) < 1e-15);
}

TEST_CASE("Erdos-Renyi: every pair is equally likely", "[graphs]") {
    const int n = 7;
    const int draws = 3000;
    MatrixXd count = MatrixXd::Zero(n, n);
    for (uint64_t seed = 0; seed < draws; ++seed) {
        const auto w = dense(*make(R"({"type":"erdos_renyi","p":0.6})", n, seed), {0, true});
        count += (w.array() != 0).cast<double>().matrix();
    }
    const double expected = (count.sum() - n * draws) / (n * (n - 1.0));
    double chi = 0;
    for (int i = 0; i < n; ++i) {
        for (int j = i + 1; j < n; ++j) {
            const double spread = expected * (1 - expected / draws);
            chi += (count(i, j) - expected) * (count(i, j) - expected) / spread;
        }
    }
    CHECK(chi < 52.4);  // 20 degrees of freedom, one in ten thousand
}

TEST_CASE("a graph that is not defined for n is refused with the nearest n that works",
          "[graphs]") {
    CHECK_THROWS_WITH(make(R"({"type":"ring_lattice","k":5})", 16),
                      Catch::Matchers::ContainsSubstring("/graph/k: 5 is odd") &&
                          Catch::Matchers::ContainsSubstring("use 4 or 6"));
    CHECK_THROWS_WITH(make(R"({"type":"erdos_renyi","p":0.001})", 50),
                      Catch::Matchers::ContainsSubstring("/graph/p") &&
                          Catch::Matchers::ContainsSubstring("connected"));
    CHECK_THROWS_WITH(make("rnig", 4), Catch::Matchers::ContainsSubstring("did you mean 'ring'"));
    CHECK_THROWS_WITH(make(R"({"type":"ring","k":4})", 4),
                      Catch::Matchers::ContainsSubstring("/graph/k"));
    CHECK_THROWS_AS(make(R"({"type":"ring","lazy":0})", 4), base::UserError);
    CHECK_THROWS_AS(make("ring", 0), base::UserError);
}
