// Effective neighbours, stationary weights, message counts.

#include "graphs/proof/measures.hpp"

#include <Eigen/LU>

#include "dense.hpp"
#include "graphs/matrix/matrix.hpp"
#include "graphs/proof/certificate.hpp"

using namespace dbench;
using namespace dbench::graphs;
using namespace dbench::graphs::testing;

namespace {

double neighbours(const std::string& spec, int n, double gamma) {
    return certify(*make(spec, n), "", gamma).effective_neighbours.value();
}

}  // namespace

TEST_CASE("effective neighbours are n for the complete graph and 1 without edges", "[graphs]") {
    for (const double gamma : {0.1, 0.9, 0.951, 0.999}) {
        for (const int n : {2, 7, 96}) {
            CHECK(neighbours("complete", n, gamma) == Approx(n).epsilon(1e-9));
            std::vector<MatrixEntry> none;
            for (int i = 0; i < n; ++i) none.push_back({i, i, 1.0});
            CHECK(effective_neighbours(explicit_matrix(n, none), gamma).value() == Approx(1));
        }
    }
    // At gamma = 0 one exchange of variance: 1 / mean |lambda|^2; a ring of weights 1/3 has 3.
    CHECK(neighbours("ring", 30, 0.0) == Approx(3).epsilon(1e-12));
}

TEST_CASE("ring lattices with the effective neighbours of the exponential graph", "[graphs]") {
    const double gamma = 0.951;
    const auto lattice = [&](int k, int n) {
        return neighbours(R"({"type":"ring_lattice","k":)" + std::to_string(k) + "}", n, gamma);
    };
    const auto closest = [&](int n) {
        const double goal = neighbours("exponential", n, gamma);
        int best = 2;
        for (int k = 2; k < 80; k += 2) {
            if (std::abs(lattice(k, n) - goal) < std::abs(lattice(best, n) - goal)) best = k;
        }
        return best;
    };
    CHECK(closest(96) == 18);
    CHECK(closest(1008) == 48);
}

/// Returns the matrix of a graph without its closed form, so that eigenvalues are computed.
static MatrixPtr copy_by_entries(const char* type, int n) {
    const auto w = dense(type, n);
    std::vector<MatrixEntry> entries;
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
            if (w(i, j) != 0) entries.push_back({i, j, w(i, j)});
        }
    }
    return explicit_matrix(n, entries);
}

TEST_CASE("closed and numeric eigenvalues give the same effective neighbours", "[graphs]") {
    for (const auto* type : {"ring", "torus", "exponential", "star", "one_way_ring", "hypercube"}) {
        const int n = 16;
        INFO(type);
        CHECK(effective_neighbours(copy_by_entries(type, n), 0.9).value() ==
              Approx(neighbours(type, n, 0.9)).epsilon(1e-9));
    }
}

TEST_CASE("disagreement is what iterating noise through W and momentum gives", "[graphs]") {
    // x <- W (x - m), m <- beta m + g with one gradient of unit variance per replica: the
    // deviations before averaging are the sum over k of C_k g(t-k), C_k = sum_j W^j beta^(k-j).
    const auto iterated = [](const Eigen::MatrixXd& w, double beta) {
        const int n = static_cast<int>(w.rows());
        const Eigen::MatrixXd deviations = Eigen::MatrixXd::Identity(n, n) - average(n);
        Eigen::MatrixXd x = Eigen::MatrixXd::Zero(n, n), m = deviations;
        double sum = 0;
        for (int k = 0; k < 4000; ++k) {
            x = w * x + m;
            m *= beta;
            sum += x.squaredNorm();
        }
        return sum;
    };
    for (const auto* type : {"ring", "torus", "exponential", "star", "hypercube", "complete"}) {
        const int n = 8;
        const auto w = dense(type, n);
        const auto found = certify(*make(type, n), "").disagreement;
        INFO(type);
        CHECK(found.noise.value() == Approx(iterated(w, 0)).epsilon(1e-9));
        CHECK(found.momentum.value() == Approx((1 - 0.81) * iterated(w, 0.9)).epsilon(1e-9));
        const Eigen::MatrixXd inverse =
            (Eigen::MatrixXd::Identity(n, n) - w + average(n)).inverse() - average(n);
        CHECK(found.lasting.value() == Approx(inverse.squaredNorm()).epsilon(1e-9));
    }
    // Equal spectral gaps at n = 8, but not equal disagreement.
    const auto lasting = [](const char* type, int n) {
        return certify(*make(type, n), "").disagreement.lasting.value();
    };
    CHECK(lasting("torus", 8) == Approx(15.4444444444));
    CHECK(lasting("exponential", 8) == Approx(10.9647058824));
    CHECK(lasting("complete", 8) == Approx(7));
    // The sum over k of 1 / sin(pi k / n)^4 is (n^2 - 1)(n^2 + 11) / 45, and 1 - lambda is
    // 4/3 sin(pi k / n)^2.
    const double n = 65536, fourth = (n * n - 1) * (n * n + 11) / 45;
    CHECK(lasting("ring", 65536) == Approx(9.0 / 16 * fourth).epsilon(1e-9));
}

TEST_CASE("closed and numeric eigenvalues give the same disagreement", "[graphs]") {
    for (const auto* type : {"ring", "torus", "exponential", "star", "one_way_ring", "hypercube"}) {
        const int n = 16;
        const auto numeric = disagreement(copy_by_entries(type, n));
        const auto closed = certify(*make(type, n), "").disagreement;
        INFO(type);
        CHECK(numeric.noise.value() == Approx(closed.noise.value()).epsilon(1e-9));
        CHECK(numeric.momentum.value() == Approx(closed.momentum.value()).epsilon(1e-9));
        CHECK(numeric.lasting.value() == Approx(closed.lasting.value()).epsilon(1e-9));
    }
}

TEST_CASE("disagreement is empty where eigenvalues do not determine it", "[graphs]") {
    const auto of = [](const char* type, int n) {
        return certify(*make(type, n), "").disagreement;
    };
    CHECK_FALSE(of(R"({"type":"star","weights":"uniform"})", 6).lasting);  // not normal
    CHECK_FALSE(of("one_peer_exponential", 8).lasting);                    // a sequence
    CHECK_FALSE(disagreement(explicit_matrix(4, {{0, 1, 1.0},
                                                 {1, 0, 1.0},
                                                 {2, 3, 1.0},
                                                 {3, 2, 1.0},
                                                 {0, 0, 0.0},
                                                 {1, 1, 0.0},
                                                 {2, 2, 0.0},
                                                 {3, 3, 0.0}}))
                    .lasting);  // not connected: an eigenvalue 1 of a difference
    const auto swap =
        disagreement(explicit_matrix(2, {{0, 1, 1.0}, {1, 0, 1.0}, {0, 0, 0.0}, {1, 1, 0.0}}));
    CHECK_FALSE(swap.noise);  // an eigenvalue -1 keeps all noise
    CHECK_FALSE(swap.momentum);
    CHECK(swap.lasting.value() == Approx(0.25));
}

TEST_CASE("stationary weights of graphs that are not doubly stochastic", "[graphs]") {
    // Uniform weights on an undirected graph: pi_i proportional to d_i + 1.
    const int n = 6;
    const auto rows = certify(*make(R"({"type":"star","weights":"uniform"})", n), "");
    const double total = n + 2.0 * (n - 1);
    CHECK(rows.stationary_max.value() == Approx(n * n / total).epsilon(1e-9));
    CHECK(rows.stationary_min.value() == Approx(n * 2 / total).epsilon(1e-9));
    const auto columns = certify(*make(R"({"type":"star","weights":"column"})", n), "");
    CHECK(columns.stationary_max.value() == Approx(n * n / total).epsilon(1e-9));
    CHECK(certify(*make("star", n), "").stationary_min.value() == 1);
    std::vector<MatrixEntry> apart = {{0, 0, 1}, {1, 1, 1}};
    CHECK_FALSE(stationary({explicit_matrix(2, apart)}, true));
}

TEST_CASE("messages and models sent are counted per replica", "[graphs]") {
    const auto ring = certify(*make("ring", 10), "");
    CHECK((ring.messages == 2 && ring.models_sent == 2));
    const auto complete = certify(*make("complete", 10), "");
    CHECK(complete.messages == Approx(18));
    CHECK(complete.models_sent == Approx(1.8));
    const auto pairs = certify(*make("one_peer_hypercube", 8), "");
    CHECK(pairs.models_sent == Approx(1));
    const auto star = certify(*make("star", 5), "");
    CHECK(star.models_sent == Approx(8.0 / 5));
    CHECK(certify(*make("one_peer_exponential", 5), "").rate.value() < 1);
}
