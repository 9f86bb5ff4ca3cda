// Compares extreme eigenvalues and long products with closed forms and dense algebra.

#include <cmath>
#include <numbers>

#include "dense.hpp"
#include "graphs/matrix/lanczos.hpp"
#include "graphs/matrix/long_chain.hpp"
#include "graphs/matrix/spectral.hpp"
#include "graphs/proof/certificate.hpp"

using namespace dbench;
using namespace dbench::graphs;
using namespace dbench::graphs::testing;

namespace {

// Applies the Laplacian of a path, whose eigenvalues are 4 sin^2(pi p / 2n).
Eigen::VectorXd path_laplacian(const Eigen::VectorXd& x) {
    Eigen::VectorXd y = Eigen::VectorXd::Zero(x.size());
    for (Eigen::Index i = 0; i + 1 < x.size(); ++i) {
        y(i) += x(i) - x(i + 1);
        y(i + 1) += x(i + 1) - x(i);
    }
    return y;
}

double path_eigenvalue(int n, int p) {
    const double s = std::sin(std::numbers::pi * p / (2.0 * n));
    return 4 * s * s;
}

// Returns a matrix without closed-form properties.
MatrixPtr entries_of(const Eigen::MatrixXd& w) {
    std::vector<MatrixEntry> entries;
    for (int i = 0; i < w.rows(); ++i) {
        for (int j = 0; j < w.cols(); ++j) {
            if (w(i, j) != 0) entries.push_back({i, j, w(i, j)});
        }
    }
    return explicit_matrix(static_cast<int>(w.rows()), entries);
}

// A static graph that hides its closed form.
class Hidden final : public Schedule {
public:
    explicit Hidden(std::unique_ptr<Schedule> schedule) : schedule_(std::move(schedule)) {}
    int size() const override { return schedule_->size(); }
    Round at(int64_t t) const override { return schedule_->at(t); }
    std::vector<Link> in(Round round, int i) const override { return schedule_->in(round, i); }
    std::vector<Link> out(Round round, int i) const override { return schedule_->out(round, i); }
    std::vector<std::vector<int>> groups(Round round) const override {
        return schedule_->groups(round);
    }
    int64_t period() const override { return 1; }

private:
    std::unique_ptr<Schedule> schedule_;
};

}  // namespace

TEST_CASE("Lanczos finds both ends, and returns nothing if the steps do not suffice", "[graphs]") {
    const int n = 700;
    const auto shifted = [](const Eigen::VectorXd& x) -> Eigen::VectorXd {
        return path_laplacian(x) - 3 * x;
    };
    CHECK(lanczos(n, path_laplacian, n, End::highest).value() ==
          Approx(path_eigenvalue(n, n - 1)).margin(1e-11).epsilon(0));
    CHECK(lanczos(n, path_laplacian, n, End::lowest).value() == Approx(0).margin(1e-11).epsilon(0));
    CHECK(lanczos(n, shifted, n, End::largest).value() == Approx(-3).margin(1e-11).epsilon(0));
    CHECK_FALSE(lanczos(n, path_laplacian, 1e9, End::highest));  // 200 steps
    const auto identity = [](const Eigen::VectorXd& x) { return x; };
    CHECK(lanczos(n, identity, n, End::largest).value() == Approx(1).epsilon(1e-12));
}

TEST_CASE("a large matrix without a closed form has the same certificate", "[graphs]") {
    const int n = 4096;  // beyond the dense solvers
    for (const auto* spec : {R"({"type": "grid", "weights": "max_degree"})",
                             R"({"type": "hypercube"})", R"({"type": "hypercube", "lazy": 0.4})"}) {
        const auto known = certify(*make(spec, n), "");
        const auto seen = certify(Hidden(make(spec, n)), "");
        INFO(spec);
        CHECK(seen.rho.value() == Approx(known.rho.value()).margin(1e-11).epsilon(0));
        CHECK(seen.lambda_min.value() == Approx(known.lambda_min.value()).margin(1e-11).epsilon(0));
    }
    CHECK_FALSE(certify(Hidden(make("ring", n)), "").rho_expected);
}

TEST_CASE("the period of shift_one contracts like its dense product", "[graphs]") {
    for (const int n : {12, 30, 32, 34, 48, 64}) {
        for (const double lazy : {1.0, 0.3}) {
            const auto schedule =
                make(R"({"type": "shift_one", "lazy": )" + std::to_string(lazy) + "}", n);
            Eigen::MatrixXd product = Eigen::MatrixXd::Identity(n, n);
            for (int64_t t = 0; t < schedule->period(); ++t) {
                product = dense(*schedule, schedule->at(t)) * product;
            }
            INFO("n = " << n << ", lazy = " << lazy);
            CHECK(certify(*schedule, "").rho_period.value() ==
                  Approx(norm2(product - average(n))).margin(1e-12).epsilon(0));
        }
    }
}

TEST_CASE("the product of a few large matrices is not formed", "[graphs]") {
    const int n = 600;
    const auto schedule = make("double_binary_tree", n);
    const Eigen::MatrixXd product =
        dense(*schedule, schedule->at(1)) * dense(*schedule, schedule->at(0)) - average(n);
    const Eigen::MatrixXd gram = product.transpose() * product;
    CHECK(certify(*schedule, "").rho_period.value() ==
          Approx(std::sqrt(spectrum(gram)(n - 1))).margin(1e-12).epsilon(0));
}

TEST_CASE("a long product keeps its digits far below rounding", "[graphs]") {
    const int n = 16;
    const Eigen::MatrixXd w = dense(R"({"type": "ring_lattice", "k": 8})", n);
    const double rho = norm2(w - average(n));
    const std::vector<MatrixPtr> chain(200, entries_of(w));
    CHECK(std::pow(rho, 200) < 1e-30);
    CHECK(contraction(chain)->rho == Approx(std::pow(rho, 200)).epsilon(1e-9));
    // This chain is not symmetric, and its steps contract differently.
    std::vector<MatrixPtr> mixed;
    Eigen::MatrixXd product = Eigen::MatrixXd::Identity(n, n);
    for (int k = 0; k < 18; ++k) {
        const auto step = dense(k % 3 == 0 ? "exponential" : "one_peer_exponential", n, k % 2);
        mixed.push_back(entries_of(step));
        product = step * product;
    }
    CHECK(long_chain_rho(mixed).value() ==
          Approx(norm2(product - average(n))).margin(1e-14).epsilon(0));
}

TEST_CASE("a long product that averages exactly is not mistaken for a contraction", "[graphs]") {
    std::vector<MatrixPtr> chain;
    for (int k = 0; k < 20; ++k)
        chain.push_back(entries_of(dense("one_peer_hypercube", 16, k % 4)));
    CHECK_FALSE(long_chain_rho(chain));
    CHECK(contraction(chain)->rho == 0);
    const Eigen::MatrixXd rows = dense(R"({"type": "star", "weights": "uniform"})", 5);
    CHECK_FALSE(long_chain_rho(std::vector<MatrixPtr>(20, entries_of(rows))));
}
