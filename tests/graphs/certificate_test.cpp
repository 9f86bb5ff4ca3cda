// Compares certificates with independent dense linear algebra.

#include <sstream>

#include "dense.hpp"
#include "graphs/proof/certificate.hpp"
#include "graphs/round_text.hpp"
#include "graphs/schedules/sequence.hpp"

using namespace dbench;
using namespace dbench::graphs;
using namespace dbench::graphs::testing;

namespace {

const std::vector<std::string> kStatic = {"ring",         "torus", "exponential", "complete",
                                          "ring_lattice", "star",  "erdos_renyi"};

// A schedule that consists of one matrix only, as external code would write it.
class Plain final : public Schedule {
public:
    explicit Plain(Eigen::MatrixXd w) : w_(std::move(w)) {}
    int size() const override { return static_cast<int>(w_.rows()); }
    Round at(int64_t) const override { return {0, true}; }
    std::vector<Link> in(Round, int i) const override { return links(w_.row(i), i); }
    std::vector<Link> out(Round, int i) const override { return links(w_.col(i), i); }
    std::vector<std::vector<int>> groups(Round) const override { return {}; }
    int64_t period() const override { return 1; }

private:
    std::vector<Link> links(const Eigen::VectorXd& values, int self) const {
        std::vector<Link> all;
        for (int j = 0; j < size(); ++j) {
            if (values(j) != 0 || j == self) all.push_back({j, values(j)});
        }
        return all;
    }
    Eigen::MatrixXd w_;
};

}  // namespace

TEST_CASE("rho, gap and the smallest eigenvalue are those of the dense matrix", "[graphs]") {
    for (const auto& type : kStatic) {
        for (const int n : {2, 3, 4, 5, 7, 8, 12, 15, 16, 30, 36}) {
            for (const double theta : {1.0, 0.5}) {
                const auto spec =
                    R"({"type":")" + type + R"(","lazy":)" + std::to_string(theta) + "}";
                INFO(spec << ", n = " << n);
                const auto schedule = make(spec, n);
                const auto w = dense(*schedule, {0, true});
                const auto c = certify(*schedule, type);
                const double rho = norm2(w - average(n));
                CHECK(c.rho.value() == Approx(rho).margin(1e-12).epsilon(0));
                CHECK(c.gap.value() == Approx(1 - rho).margin(1e-12).epsilon(0));
                CHECK(round_rho(*schedule, {0, true}).value() == c.rho.value());
                const bool symmetric = w.isApprox(w.transpose(), 1e-14);
                CHECK(c.symmetric == symmetric);
                REQUIRE(c.lambda_min.has_value() == symmetric);
                if (symmetric) {
                    CHECK(*c.lambda_min == Approx(spectrum(w)(0)).margin(1e-12).epsilon(0));
                }
            }
        }
    }
}

TEST_CASE("a schedule without matrices is certified from its rows", "[graphs]") {
    for (const auto& type : kStatic) {
        const auto known = certify(*make(type, 20), type);
        const auto seen = certify(Plain(dense(type, 20)), type);
        INFO(type);
        CHECK(seen.rho.value() == Approx(known.rho.value()).margin(1e-12).epsilon(0));
        CHECK(seen.finite_time == known.finite_time);
        CHECK(seen.degree_mean == known.degree_mean);
        CHECK(seen.iterations_to_1e3 == known.iterations_to_1e3);
    }
}

TEST_CASE("the certificate of a sequence covers the product over one period", "[graphs]") {
    for (const int n : {3, 5, 6, 7, 9, 12, 20, 33}) {
        const auto schedule = make("one_peer_exponential", n);
        Eigen::MatrixXd product = Eigen::MatrixXd::Identity(n, n);
        for (int64_t t = 0; t < schedule->period(); ++t) {
            product = dense(*schedule, schedule->at(t)) * product;
        }
        const auto c = certify(*schedule, "");
        CHECK(c.rho_period.value() == Approx(norm2(product - average(n))).margin(1e-12).epsilon(0));
        CHECK(c.connected);
        CHECK(c.degree_mean == 1);
    }
}

TEST_CASE("a contraction below the smallest number is not known", "[graphs]") {
    const auto ring = make("ring", 5);
    const std::vector<MatrixPtr> matrices(3000, ring->matrix(ring->at(0)));  // 0.54^3000
    const auto c = certify(*cyclic_schedule(matrices), "");
    CHECK(c.period == 3000);
    CHECK_FALSE(c.finite_time);
    CHECK_FALSE(c.rho_period);
    CHECK_FALSE(c.rate);
}

TEST_CASE("random sequences have no period but an expected contraction", "[graphs]") {
    for (const auto* order : {"sampled", "permuted"}) {
        const int n = 12;
        const auto schedule =
            make(R"({"type":"one_peer_exponential","order":")" + std::string(order) + "\"}", n);
        Eigen::MatrixXd expected = Eigen::MatrixXd::Zero(n, n);
        for (uint64_t k = 0; k < 4; ++k) {
            const auto w = dense(*schedule, {k, true});
            expected += w.transpose() * w / 4;
        }
        const auto c = certify(*schedule, "");
        CHECK_FALSE(c.period);
        CHECK_FALSE(c.rho_period);
        CHECK_FALSE(c.finite_time);
        CHECK(c.rho_expected.value() ==
              Approx(std::sqrt(norm2(expected - average(n)))).margin(1e-12).epsilon(0));
    }
}

TEST_CASE("finite_time requires exact averaging, not closeness", "[graphs]") {
    CHECK_FALSE(
        certify(*make("ring", 4), "").finite_time);  // 0.333^t approaches 0 but never reaches it
    CHECK(certify(*make("ring", 3), "").finite_time == 1);
    CHECK_FALSE(certify(*make("one_peer_exponential", 6), "").finite_time);
    // de Bruijn graph of 8: replica i averages 2i and 2i + 1 (mod 8); exact after three rounds.
    Eigen::MatrixXd w = Eigen::MatrixXd::Zero(8, 8);
    for (int i = 0; i < 8; ++i) w(i, 2 * i % 8) = w(i, (2 * i + 1) % 8) = 0.5;
    CHECK(certify(Plain(w), "").finite_time == 3);
}

TEST_CASE("the certificate distinguishes stochastic, connected and symmetric matrices",
          "[graphs]") {
    Eigen::MatrixXd rows = Eigen::MatrixXd::Zero(3, 3);
    rows << 0.5, 0.5, 0, 0, 0.5, 0.5, 0.25, 0.5, 0.25;
    auto c = certify(Plain(rows), "");
    CHECK((c.row_stochastic && !c.column_stochastic && c.connected));
    c = certify(Plain(rows.transpose()), "");
    CHECK((!c.row_stochastic && c.column_stochastic));
    Eigen::MatrixXd apart = Eigen::MatrixXd::Identity(4, 4);
    c = certify(Plain(apart), "");
    CHECK_FALSE(c.connected);
    CHECK(c.rho.value() == Approx(1));
    CHECK_FALSE(c.iterations_to_1e3);
    Eigen::MatrixXd one_way(2, 2);  // 0 never receives from 1
    one_way << 1, 0, 0.5, 0.5;
    CHECK_FALSE(certify(Plain(one_way), "").connected);
    Eigen::MatrixXd negative(2, 2);
    negative << -0.5, 1.5, 1.5, -0.5;
    CHECK_FALSE(certify(Plain(negative), "").nonnegative);
}

TEST_CASE("disagreement falls to a thousandth in the rounds that the certificate states",
          "[graphs]") {
    for (const auto& type : kStatic) {
        const int n = 16;
        const auto schedule = make(type, n);
        const auto c = certify(*schedule, type);
        const auto w = dense(*schedule, {0, true});
        Eigen::MatrixXd power = w;
        for (int64_t t = 1; t < *c.iterations_to_1e3; ++t) power = w * power;
        INFO(type);
        CHECK(norm2(power - average(n)) <= 1e-3 * (1 + 1e-9));
        if (*c.iterations_to_1e3 > 1) {
            power = Eigen::MatrixXd::Identity(n, n);
            for (int64_t t = 1; t < *c.iterations_to_1e3; ++t) power = w * power;
            CHECK(norm2(power - average(n)) > 1e-3);
        }
    }
}

TEST_CASE("a sequence that contracts in expectation is connected", "[graphs]") {
    // 64 sampled rounds of one pair each cannot connect 200 replicas.
    const auto c = certify(*make("random_pairs", 200), "random_pairs");
    CHECK(c.connected);
    CHECK(c.stationary_min == 1);
    CHECK(c.stationary_max == 1);
}

TEST_CASE("a star of row sums has a norm above 1 and a known limit at any size", "[graphs]") {
    for (const int n : {100, 1500, 1700}) {
        INFO("n = " << n);
        const auto c = certify(*make(R"({"type":"star","weights":"uniform"})", n), "star");
        // A leaf averages with the hub, 1/2 each, and the hub with all, 1/n each: the limit weighs
        // the hub n/2 times as much as a leaf. ||W - J/n||_2 is (n - 2) / (2 sqrt(n)).
        REQUIRE(c.rho.has_value());
        CHECK(*c.rho == Approx(0.5 * (n - 2) / std::sqrt(n)));
        REQUIRE(c.stationary_min.has_value());
        CHECK(*c.stationary_max / *c.stationary_min == Approx(0.5 * n));
    }
}

TEST_CASE("large n uses closed forms", "[graphs]") {
    const int n = 65536;
    const auto ring = certify(*make("ring", n), "ring");
    const double s = std::sin(3.14159265358979323846 / n);
    CHECK(ring.gap.value() == Approx(4.0 / 3.0 * s * s).epsilon(1e-12));
    CHECK(certify(*make("exponential", n), "").gap.value() == Approx(2.0 / 17).epsilon(1e-12));
    CHECK(certify(*make("one_peer_exponential", n), "").finite_time == 16);
    CHECK(certify(*make("star", n), "").rho.value() == Approx(1 - 1.0 / n).epsilon(1e-12));
}

TEST_CASE("the certificate's JSON has the documented keys", "[graphs]") {
    const auto json = to_json(certify(*make("torus", 12), "torus"));
    for (const auto* key :
         {"type", "n", "connected", "row_stochastic", "column_stochastic", "symmetric", "degree",
          "rho", "gap", "period", "rho_period", "finite_time"}) {
        CHECK(json.contains(key));
    }
    CHECK(json["degree"]["mean"] == 4);
    CHECK(json["finite_time"].is_null());
    CHECK(to_text(certify(*make("torus", 12), "torus")).find("0.6") != std::string::npos);
}

TEST_CASE("matrices and edges are printed as text", "[graphs]") {
    const auto star = make("star", 4);
    std::ostringstream matrix;
    print_matrix(matrix, *star, {0, true});
    CHECK(matrix.str() == "0.25 0.25 0.25 0.25\n0.25 0.75 0 0\n0.25 0 0.75 0\n0.25 0 0 0.75\n");
    std::ostringstream edges;
    const auto pair = make("one_peer_exponential", 4);
    print_edges(edges, *pair, pair->at(0));
    CHECK(edges.str() ==
          "0 0 0.5\n0 3 0.5\n1 0 0.5\n1 1 0.5\n2 1 0.5\n2 2 0.5\n3 2 0.5\n3 3 0.5\n");
}
