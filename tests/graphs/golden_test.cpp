// Compares rho = ||W - J/n||_2 with numbers computed independently with NumPy (six digits).

#include "dense.hpp"
#include "graphs/proof/certificate.hpp"

using namespace dbench::graphs;
using namespace dbench::graphs::testing;

namespace {

struct Golden {
    const char* spec;
    int n;
    double rho;
};

constexpr const char* kLattice4 = R"({"type":"ring_lattice","k":4})";
constexpr const char* kLattice8 = R"({"type":"ring_lattice","k":8})";

const std::vector<Golden> kGolden = {
    {"ring", 4, 0.333333},
    {"ring", 6, 0.666667},
    {"ring", 8, 0.804738},
    {"ring", 12, 0.910684},
    {"ring", 16, 0.949253},
    {"ring", 24, 0.977284},
    {"ring", 48, 0.994297},
    {"ring", 64, 0.996790},
    {"ring", 96, 0.998573},
    {"ring", 128, 0.999197},
    {"ring", 256, 0.999799},
    {"ring", 512, 0.999950},
    {"ring", 1008, 0.999987},
    {"torus", 4, 0.333333},
    {"torus", 6, 0.5},
    {"torus", 8, 0.5},
    {"torus", 12, 0.6},
    {"torus", 16, 0.6},
    {"torus", 24, 0.8},
    {"torus", 48, 0.882843},
    {"torus", 64, 0.882843},
    {"torus", 96, 0.946410},
    {"torus", 128, 0.969552},
    {"torus", 256, 0.969552},
    {"torus", 512, 0.992314},
    {"torus", 1008, 0.993923},
    {"exponential", 4, 0.333333},
    {"exponential", 6, 0.5},
    {"exponential", 8, 0.5},
    {"exponential", 12, 0.6},
    {"exponential", 16, 0.6},
    {"exponential", 24, 0.666667},
    {"exponential", 48, 0.714286},
    {"exponential", 64, 0.714286},
    {"exponential", 96, 0.75},
    {"exponential", 128, 0.75},
    {"exponential", 256, 0.777778},
    {"exponential", 512, 0.8},
    {"exponential", 1008, 0.818182},
    {"star", 4, 0.75},
    {"star", 6, 0.833333},
    {"star", 8, 0.875},
    {"star", 12, 0.916667},
    {"star", 16, 0.9375},
    {"star", 24, 0.958333},
    {"star", 48, 0.979167},
    {"star", 64, 0.984375},
    {"star", 96, 0.989583},
    {"star", 128, 0.992188},
    {"star", 256, 0.996094},
    {"star", 512, 0.998047},
    {"star", 1008, 0.999008},
    {kLattice4, 6, 0.2},
    {kLattice4, 8, 0.482843},
    {kLattice4, 12, 0.746410},
    {kLattice4, 16, 0.852395},
    {kLattice4, 24, 0.932780},
    {kLattice4, 48, 0.982948},
    {kLattice4, 64, 0.990388},
    {kLattice4, 96, 0.995722},
    {kLattice4, 128, 0.997592},
    {kLattice4, 256, 0.999398},
    {kLattice4, 512, 0.999849},
    {kLattice4, 1008, 0.999961},
    {kLattice8, 12, 0.303561},
    {kLattice8, 16, 0.558593},
    {kLattice8, 24, 0.786457},
    {kLattice8, 48, 0.943839},
    {kLattice8, 64, 0.968176},
    {kLattice8, 96, 0.985781},
    {kLattice8, 128, 0.991987},
    {kLattice8, 256, 0.997993},
    {kLattice8, 512, 0.999498},
    {kLattice8, 1008, 0.999870},
    {R"({"type":"ring_lattice","k":2})", 96, 0.998573},
    {R"({"type":"ring_lattice","k":6})", 96, 0.991454},
    {R"({"type":"ring_lattice","k":10})", 96, 0.978717},
    {R"({"type":"ring_lattice","k":16})", 96, 0.949379},
    {R"({"type":"ring_lattice","k":32})", 96, 0.816798},
    {R"({"type":"ring_lattice","k":48})", 96, 0.623405},
    {R"({"type":"ring_lattice","k":94})", 96, 0.010526},
    {R"({"type":"ring_lattice","k":10})", 1008, 0.999806},
    {R"({"type":"ring_lattice","k":50})", 1008, 0.995796},
    {R"({"type":"ring_lattice","k":112})", 1008, 0.979457},
    {R"({"type":"ring_lattice","k":252})", 1008, 0.899550},
    {R"({"type":"ring_lattice","k":504})", 1008, 0.635357},
};

}  // namespace

TEST_CASE("rho has its golden values", "[graphs]") {
    for (const auto& [spec, n, rho] : kGolden) {
        INFO(spec << ", n = " << n);
        const auto certificate = certify(*make(spec, n), spec);
        CHECK(certificate.rho.value() == Approx(rho).margin(6e-7).epsilon(0));
        CHECK(certificate.gap.value() == Approx(1 - rho).margin(6e-7).epsilon(0));
        CHECK(certificate.connected);
    }
}

TEST_CASE("ring lattices that mix like the exponential graph", "[graphs]") {
    CHECK(certify(*make(R"({"type":"ring_lattice","k":38})", 96), "").rho.value() <= 0.75);
    CHECK(certify(*make(R"({"type":"ring_lattice","k":36})", 96), "").rho.value() > 0.75);
    CHECK(certify(*make(R"({"type":"ring_lattice","k":344})", 1008), "").rho.value() <= 0.818182);
    CHECK(certify(*make(R"({"type":"ring_lattice","k":342})", 1008), "").rho.value() > 0.818182);
}

TEST_CASE("one-peer exponential: exact at powers of two, contraction per period elsewhere",
          "[graphs]") {
    for (int d = 1; d <= 10; ++d) {
        const auto c = certify(*make("one_peer_exponential", 1 << d), "");
        CHECK(c.finite_time == d);
        CHECK(c.rho_period == 0.0);
        CHECK(c.period == d);
    }
    const std::vector<std::pair<int, double>> contraction = {
        {6, 0.217}, {12, 0.209}, {24, 0.207}, {48, 0.207}, {96, 0.207}, {1008, 0.0156}};
    for (const auto& [n, rho] : contraction) {
        const auto c = certify(*make("one_peer_exponential", n), "");
        INFO("n = " << n);
        CHECK(c.rho_period.value() == Approx(rho).epsilon(0.005));
        CHECK_FALSE(c.finite_time);
    }
}

TEST_CASE("complete averages in one round", "[graphs]") {
    for (const int n : {2, 3, 7, 49, 96}) {
        const auto c = certify(*make("complete", n), "");
        CHECK(c.rho == 0.0);
        CHECK(c.gap == 1.0);
        CHECK(c.finite_time == 1);
        CHECK(c.degree_max == n - 1);
        CHECK(c.iterations_to_1e3 == 1);
    }
}
