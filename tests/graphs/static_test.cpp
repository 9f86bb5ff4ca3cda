// Compares static graphs that definitions_test.cpp leaves out with dense constructions from their
// definitions.

#include <set>

#include "base/error.hpp"
#include "dense.hpp"
#include "graphs/proof/certificate.hpp"
#include "graphs/types/regular.hpp"

using namespace dbench;
using namespace dbench::graphs;
using namespace dbench::graphs::testing;
using Eigen::MatrixXd;

namespace {

int wrap_static(int64_t i, int n) { return static_cast<int>(((i % n) + n) % n); }

MatrixXd metropolis_static(MatrixXd a) {
    a.diagonal().setZero();
    const auto n = a.rows();
    const Eigen::VectorXd degree = a.rowwise().sum();
    MatrixXd w = MatrixXd::Zero(n, n);
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
            if (a(i, j) != 0) w(i, j) = 1 / (1 + std::max(degree(i), degree(j)));
        }
    }
    for (int i = 0; i < n; ++i) w(i, i) = 1 - w.row(i).sum();
    return w;
}

void join(MatrixXd& a, int i, int j) { a(i, j) = a(j, i) = 1; }

}  // namespace

TEST_CASE("one-way ring, path, grid and trees match their definitions", "[graphs]") {
    for (int n = 1; n <= 40; ++n) {
        INFO("n = " << n);
        MatrixXd w = MatrixXd::Identity(n, n) / 2;
        for (int i = 0; i < n; ++i) w(wrap_static(i + 1, n), i) += 0.5;
        CHECK(distance(dense("one_way_ring", n), w) < 1e-15);

        MatrixXd path = MatrixXd::Zero(n, n);
        for (int i = 0; i + 1 < n; ++i) join(path, i, i + 1);
        CHECK(distance(dense("path", n), metropolis_static(path)) < 1e-14);

        int r = 1;
        for (int d = 1; d * d <= n; ++d) r = n % d == 0 ? d : r;
        const int c = n / r;
        MatrixXd grid = MatrixXd::Zero(n, n);
        for (int i = 0; i < n; ++i) {
            if (i % c + 1 < c) join(grid, i, i + 1);
            if (i / c + 1 < r) join(grid, i, i + c);
        }
        CHECK(distance(dense("grid", n), metropolis_static(grid)) < 1e-14);

        for (const int arity : {1, 2, 3}) {
            MatrixXd tree = MatrixXd::Zero(n, n);
            for (int child = 1; child < n; ++child) {
                int parent = 0;
                while (child > arity * (parent + 1)) ++parent;
                join(tree, parent, child);
            }
            const auto spec = R"({"type":"tree","arity":)" + std::to_string(arity) + "}";
            CHECK(distance(dense(spec, n), metropolis_static(tree)) < 1e-14);
        }
    }
}

TEST_CASE("closed spectra of path and grid with constant weights match dense ones", "[graphs]") {
    for (const auto* type : {"path", "grid"}) {
        for (const auto* rule : {"max_degree", "laplacian"}) {
            for (const int n : {2, 3, 7, 12, 20}) {
                const auto spec =
                    std::string(R"({"type":")") + type + R"(","weights":")" + rule + "\"}";
                const auto schedule = make(spec, n);
                INFO(spec << ", n = " << n);
                CHECK(certify(*schedule, "").rho.value() ==
                      Approx(norm2(dense(*schedule, {0, true}) - average(n))).margin(1e-12));
            }
        }
    }
}

TEST_CASE("hypercube has its golden numbers and accepts powers of two only", "[graphs]") {
    const std::vector<std::pair<int, double>> golden = {
        {4, 0.333333}, {8, 0.5},        {16, 0.6}, {64, 0.714286},
        {128, 0.75},   {256, 0.777778}, {512, 0.8}};
    for (const auto& [n, rho] : golden) {
        CHECK(certify(*make("hypercube", n), "").rho.value() ==
              Approx(rho).margin(6e-7).epsilon(0));
    }
    for (const int n : {2, 4, 8, 16}) {
        const auto w = dense("hypercube", n);
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j < n; ++j) {
                int bits = 0;
                for (int x = i ^ j; x > 0; x /= 2) bits += x % 2;
                const double expected = bits <= 1 ? 1 / (std::log2(n) + 1) : 0;
                CHECK(w(i, j) == Approx(expected).margin(1e-15));
            }
        }
    }
    CHECK_THROWS_WITH(make("hypercube", 12), Catch::Matchers::ContainsSubstring(
                                                 "/graph: hypercube is not defined for 12") &&
                                                 Catch::Matchers::ContainsSubstring("8 and 16"));
}

TEST_CASE("random regular graphs are simple, connected, and of the requested degree", "[graphs]") {
    for (const int n : {2, 3, 4, 5, 6, 9, 16, 33, 96, 1008}) {
        for (const int degree : {2, 3, 4, 7, 30}) {
            if (degree >= n || (n % 2 == 1 && degree % 2 == 1)) continue;
            if (n == 1008 && degree == 2) continue;
            const auto spec =
                R"({"type":"random_regular","degree":)" + std::to_string(degree) + "}";
            const auto schedule = make(spec, n);
            INFO(spec << ", n = " << n);
            for (int i = 0; i < n; ++i) {
                REQUIRE(schedule->in({0, true}, i).size() == static_cast<size_t>(degree + 1));
            }
            if (n <= 100) CHECK(certify(*schedule, "").connected);
        }
    }
    CHECK_THROWS_WITH(make(R"({"type":"random_regular","degree":3})", 9),
                      Catch::Matchers::ContainsSubstring("use 2 or 4"));
    CHECK_THROWS_WITH(make(R"({"type":"random_regular","degree":9})", 9),
                      Catch::Matchers::ContainsSubstring("use 8"));
    CHECK_THROWS_WITH(make(R"({"type":"random_regular","degree":1})", 8),
                      Catch::Matchers::ContainsSubstring("use 2"));
    // Friedman: close to (1 + 2 sqrt(d-1)) / (d+1).
    const double bound = (1 + 2 * std::sqrt(5.0)) / 7;
    CHECK(certify(*make(R"({"type":"random_regular","degree":6})", 1008), "").rho.value() ==
          Approx(bound).margin(0.04).epsilon(0));
}

TEST_CASE("random regular: every pair is equally likely", "[graphs]") {
    const int n = 8;
    const int draws = 6000;
    for (const int degree : {3, 5}) {
        MatrixXd count = MatrixXd::Zero(n, n);
        for (uint64_t seed = 0; seed < draws; ++seed) {
            base::Random random(seed, base::Purpose::graph, {77});
            for (const auto& [a, b] : random_regular(n, degree, random)) count(a, b) += 1;
        }
        const double expected = draws * degree / 7.0;
        double chi = 0;
        for (int i = 0; i < n; ++i) {
            for (int j = i + 1; j < n; ++j) {
                const double spread = expected * (1 - expected / draws);
                chi += (count(i, j) - expected) * (count(i, j) - expected) / spread;
            }
        }
        CHECK(chi < 62);  // at most 27 degrees of freedom
    }
}

TEST_CASE("Watts-Strogatz is the lattice without rewiring and keeps its number of edges",
          "[graphs]") {
    for (const int n : {6, 16, 41}) {
        CHECK(dense(R"({"type":"watts_strogatz","k":4,"beta":0})", n) ==
              dense(R"({"type":"ring_lattice","k":4})", n));
        const auto w = dense(R"({"type":"watts_strogatz","k":4,"beta":0.5})", n);
        MatrixXd a = (w.array() != 0).cast<double>();
        CHECK(distance(w, metropolis_static(a)) < 1e-14);
        a.diagonal().setZero();
        CHECK(a.sum() == 4 * n);
        CHECK(w != dense(R"({"type":"ring_lattice","k":4})", n));
    }
    CHECK_THROWS_WITH(make(R"({"type":"watts_strogatz","k":3})", 9),
                      Catch::Matchers::ContainsSubstring("use 2 or 4"));
}

TEST_CASE("Margulis and chordal cycle count multiplicities and refuse other n", "[graphs]") {
    for (const int m : {2, 3, 4, 5, 9}) {
        const int n = m * m;
        MatrixXd a = MatrixXd::Zero(n, n);
        for (int x = 0; x < m; ++x) {
            for (int y = 0; y < m; ++y) {
                for (const int s : {1, -1}) {
                    a(x * m + y, wrap_static(x + s * 2 * y, m) * m + y) += 1;
                    a(x * m + y, wrap_static(x + s * (2 * y + 1), m) * m + y) += 1;
                    a(x * m + y, x * m + wrap_static(y + s * 2 * x, m)) += 1;
                    a(x * m + y, x * m + wrap_static(y + s * (2 * x + 1), m)) += 1;
                }
            }
        }
        INFO("m = " << m);
        CHECK(distance(dense("margulis", n), a / 8) < 1e-15);
        const auto c = certify(*make("margulis", n), "");
        CHECK(c.symmetric);
        CHECK(c.rho.value() <= 5 * std::sqrt(2.0) / 8 + 1e-12);
    }
    for (const int p : {2, 3, 5, 7, 11, 31, 97}) {
        MatrixXd a = MatrixXd::Zero(p, p);
        for (int x = 0; x < p; ++x) {
            a(x, wrap_static(x + 1, p)) += 1;
            a(x, wrap_static(x - 1, p)) += 1;
            for (int y = 0; y < p; ++y) {
                if ((x == 0 && y == 0) || x * y % p == 1) a(x, y) += 1;
            }
        }
        INFO("p = " << p);
        CHECK(distance(dense("chordal_cycle", p), a / 3) < 1e-15);
        CHECK(certify(*make("chordal_cycle", p), "").symmetric);
    }
    // A chord that coincides with a neighbour, or an n without inverses, must never give a wrong W.
    for (int n = 4; n <= 32; ++n) {
        bool prime = true;
        for (int d = 2; d * d <= n; ++d) prime &= n % d != 0;
        if (!prime) CHECK_THROWS_AS(make("chordal_cycle", n), base::UserError);
    }
    CHECK_THROWS_WITH(make("margulis", 10), Catch::Matchers::ContainsSubstring("9 and 16"));
    CHECK_THROWS_WITH(make("chordal_cycle", 12), Catch::Matchers::ContainsSubstring("11 and 13"));
}

TEST_CASE("EquiStatic has the right multiplicities, transposes and spectrum", "[graphs]") {
    for (const int n : {2, 5, 16, 31}) {
        const auto directed = make("d_equistatic", n, 5);
        const auto undirected = make("u_equistatic", n, 5);
        const auto d = dense(*directed, {0, true});
        const auto u = dense(*undirected, {0, true});
        CHECK(distance(u, (d + d.transpose()) / 2) < 1e-15);
        CHECK(d.diagonal().minCoeff() == Approx(1.0 / n));
        CHECK(certify(*directed, "").rho.value() == Approx(norm2(d - average(n))).margin(1e-12));
        CHECK(certify(*undirected, "").rho.value() == Approx(norm2(u - average(n))).margin(1e-12));
        CHECK(certify(*directed, "").connected);
    }
    // P(rho < eps) >= 1 - p with M = ceil(8 ln(2n/p) / (3 eps^2)) offsets.
    const int n = 200;
    const double eps = 0.5;
    const int count = static_cast<int>(std::ceil(8 * std::log(2 * n / 0.01) / (3 * eps * eps)));
    for (uint64_t seed = 0; seed < 20; ++seed) {
        const auto spec = R"({"type":"d_equistatic","degree":)" + std::to_string(count) + "}";
        CHECK(certify(*make(spec, n, seed), "").rho.value() < eps);
    }
}
