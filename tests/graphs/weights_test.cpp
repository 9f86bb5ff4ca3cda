// Rules that assign weights to edges.

#include "graphs/matrix/weights.hpp"
#include "base/error.hpp"
#include "dense.hpp"
#include "graphs/matrix/topology.hpp"
#include "graphs/proof/certificate.hpp"

using namespace dbench;
using namespace dbench::graphs;
using namespace dbench::graphs::testing;
using Eigen::MatrixXd;

namespace {

std::string with(const std::string& type, const std::string& rule) {
    return R"({"type":")" + type + R"(","weights":")" + rule + "\"}";
}

double rho(const std::string& type, const std::string& rule, int n) {
    return certify(*make(with(type, rule), n), "").rho.value();
}

MatrixXd dense_of(const Matrix& matrix) {
    MatrixXd w = MatrixXd::Zero(matrix.size(), matrix.size());
    for (int i = 0; i < matrix.size(); ++i) {
        for (const Link& link : matrix.in(i)) w(i, link.peer) = link.weight;
    }
    MatrixXd columns = MatrixXd::Zero(matrix.size(), matrix.size());
    for (int j = 0; j < matrix.size(); ++j) {
        for (const Link& link : matrix.out(j)) columns(link.peer, j) = link.weight;
    }
    CHECK((w - columns).cwiseAbs().maxCoeff() <= 1e-15);
    return w;
}

}  // namespace

TEST_CASE("on regular graphs uniform, metropolis, max_degree and column are equal", "[graphs]") {
    for (const auto* type : {"ring", "torus", "complete", "ring_lattice", "random_regular"}) {
        const auto w = dense(with(type, "uniform"), 12);
        for (const auto* rule : {"auto", "metropolis", "max_degree", "column"}) {
            CHECK((dense(with(type, rule), 12) - w).cwiseAbs().maxCoeff() < 1e-15);
        }
    }
}

TEST_CASE("on a star each rule has its own weights", "[graphs]") {
    const int n = 5;
    const auto uniform = dense(with("star", "uniform"), n);
    CHECK(uniform(0, 3) == Approx(0.2));
    CHECK(uniform(3, 0) == Approx(0.5));
    const auto c = certify(*make(with("star", "uniform"), n), "star");
    CHECK((c.row_stochastic && !c.column_stochastic));
    const auto column = dense(with("star", "column"), n);
    CHECK((column - uniform.transpose()).cwiseAbs().maxCoeff() < 1e-15);
    CHECK(dense(with("star", "max_degree"), n)(3, 3) == Approx(0.8));
    // L of a star: 0, 1, n; best constant 2/(n+1).
    const auto laplacian = dense(with("star", "laplacian"), n);
    CHECK(laplacian(1, 0) == Approx(2.0 / 6));
    CHECK(laplacian(0, 0) == Approx(1 - 8.0 / 6));
    CHECK_FALSE(certify(*make(with("star", "laplacian"), n), "").nonnegative);
}

TEST_CASE("Metropolis rows sum to 1 on 1-, 2-, 3-regular graphs, star, path", "[graphs]") {
    const std::vector<std::pair<int, std::vector<Edge>>> graphs = {
        {2, {{0, 1}}},
        {4, {{0, 1}, {1, 2}, {2, 3}, {3, 0}}},
        {4, {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}}},
        {5, {{0, 1}, {0, 2}, {0, 3}, {0, 4}}},
        {5, {{0, 1}, {1, 2}, {2, 3}, {3, 4}}}};
    for (const auto& [n, edges] : graphs) {
        const auto w = dense_of(*metropolis_weights(from_edges(n, edges, false)));
        CHECK((w.rowwise().sum().array() - 1).abs().maxCoeff() < 1e-15);
        CHECK((w - w.transpose()).cwiseAbs().maxCoeff() == 0);
        CHECK(w.minCoeff() >= 0);
    }
}

TEST_CASE("on directed graphs row and column stochastic rules differ", "[graphs]") {
    const std::vector<Edge> edges = {{0, 1}, {1, 2}, {2, 3}, {3, 0}, {0, 2}, {1, 3}, {0, 3}};
    const auto topology = from_edges(4, edges, true);
    const auto rows = dense_of(*uniform_weights(topology));
    const auto columns = dense_of(*column_weights(topology));
    CHECK((rows.rowwise().sum().array() - 1).abs().maxCoeff() < 1e-15);
    CHECK((columns.colwise().sum().array() - 1).abs().maxCoeff() < 1e-15);
    CHECK(columns(3, 0) == Approx(0.25));  // 0 sends to three others
    CHECK(rows(3, 0) == Approx(0.25));     // 3 receives from three others
    CHECK(rows(1, 0) == Approx(0.5));
    CHECK_THROWS_WITH(make(with("exponential", "laplacian"), 8),
                      Catch::Matchers::ContainsSubstring("/graph/weights"));
}

TEST_CASE("the best constant weight beats every other constant", "[graphs]") {
    for (const auto* type : {"ring", "path", "grid", "erdos_renyi", "star"}) {
        const int n = 12;
        const double best = rho(type, "laplacian", n);
        INFO(type);
        CHECK(best <= rho(type, "max_degree", n) + 1e-12);
        // W = I - eps L: recover L from the matrix and try others.
        const auto w = dense(with(type, "max_degree"), n);
        for (double scale = 0.3; scale < 3; scale += 0.1) {
            const MatrixXd other = MatrixXd::Identity(n, n) * (1 - scale) + scale * w;
            CHECK(best <= norm2(other - average(n)) + 1e-12);
        }
    }
}

TEST_CASE("fastest mixing weights reach known optima and are never worse than the rules",
          "[graphs]") {
    // A path's fastest chain has edge weights 1/2 and rho = cos(pi/n) (Boyd et al. 2006).
    for (const int n : {3, 4, 7, 12}) {
        CHECK(rho("path", "fastest", n) == Approx(std::cos(M_PI / n)).margin(1e-7).epsilon(0));
    }
    // For edge-transitive graphs the best constant that keeps W >= 0 is optimal. Star: 1/(n-1).
    CHECK(rho("star", "fastest", 8) == Approx(1 - 1.0 / 7).margin(1e-7).epsilon(0));
    CHECK(rho("ring", "fastest", 9) == Approx(rho("ring", "laplacian", 9)).margin(1e-7).epsilon(0));
    CHECK(rho("complete", "fastest", 6) == Approx(0).margin(1e-7));
    for (const auto* type : {"erdos_renyi", "grid", "tree", "watts_strogatz"}) {
        const int n = 20;
        INFO(type);
        const auto schedule = make(with(type, "fastest"), n);
        const auto c = certify(*schedule, "");
        CHECK((c.row_stochastic && c.column_stochastic && c.symmetric));
        CHECK(dense(*schedule, {0, true}).minCoeff() >= 0);
        CHECK(c.rho.value() <= rho(type, "metropolis", n) + 1e-9);
        CHECK(c.rho.value() <= rho(type, "max_degree", n) + 1e-9);
        // At the optimum, no feasible step along random directions reduces rho.
        const auto best = dense(*schedule, {0, true});
        const auto other = dense(with(type, "metropolis"), n);
        for (const double step : {1e-4, 1e-2}) {
            CHECK(c.rho.value() <= norm2((1 - step) * best + step * other - average(n)) + 1e-9);
        }
    }
    CHECK_THROWS_WITH(make(with("ring", "fastest"), 300),
                      Catch::Matchers::ContainsSubstring("256 replicas"));
}
