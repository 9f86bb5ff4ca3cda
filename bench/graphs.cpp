// Measures the CPU time that graphs need: the certificate of each type at 1008 and at 65,536
// replicas, and the query of every step, the links of one replica in the next round.

#include <cstdio>
#include <ctime>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.hpp"
#include "graphs/proof/certificate.hpp"
#include "graphs/schedules/staged.hpp"

using namespace dbench;
using namespace dbench::graphs;

namespace {

constexpr int kLarge = 1008, kHuge = 65536;
constexpr double kLargeSeconds = 1, kHugeSeconds = 20, kRoundSeconds = 20e-6;

double now() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Measured {
    bool defined = false;
    double make = 0, certify = 0, round = 0;
    std::string rho = "-";
};

Measured measure(const std::string& type, int n) {
    Measured m;
    std::unique_ptr<Schedule> schedule;
    double at = now();
    try {
        schedule = make_graph({{"type", type}}, {n, 1});
    } catch (const base::UserError&) {
        return m;  // not defined at this n
    }
    m.defined = true;
    m.make = now() - at;
    at = now();
    const Certificate c = certify(*schedule, type);
    m.certify = now() - at;
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", c.rho.value_or(-1));
    m.rho = c.rho ? text : "-";
    // Queries the links of one replica in rounds that were not queried before.
    constexpr int64_t kRounds = 200;
    volatile size_t links = 0;
    at = now();
    for (int64_t t = 1000; t < 1000 + kRounds; ++t) {
        const Round round = schedule->at(t);
        links = links + schedule->in(round, 5).size() + schedule->out(round, 5).size();
    }
    m.round = (now() - at) / kRounds;
    return m;
}

std::string text(const Measured& m) {
    if (!m.defined) return "              not defined at this n";
    char line[96];
    std::snprintf(line, sizeof line, "%9.3f %9.3f %9.1f %12s", m.make, m.certify, m.round * 1e6,
                  m.rho.c_str());
    return line;
}

}  // namespace

int main() {
    std::printf("%-22s %42s    %42s\n", "", "n = 1008", "n = 65536");
    std::printf("%-22s %9s %9s %9s %12s    %9s %9s %9s %12s\n", "", "make s", "certify s",
                "round us", "rho", "make s", "certify s", "round us", "rho");
    bool good = true;
    for (const GraphEntry& entry : graph_table()) {
        if (entry.name == "file") continue;
        const Measured large = measure(entry.name, kLarge);
        // Some types refuse 65,536 replicas: complete graphs, and graphs found by optimisation.
        const Measured huge = measure(entry.name, kHuge);
        std::printf("%-22s %s    %s\n", entry.name.c_str(), text(large).c_str(),
                    text(huge).c_str());
        std::fflush(stdout);
        const bool in_time =
            large.make + large.certify <= kLargeSeconds && huge.make + huge.certify <= kHugeSeconds;
        if (!in_time) std::printf("  ^ over the required time\n");
        good &= in_time;
    }
    std::printf("required: %g s at 1008, %g s at 65,536\n", kLargeSeconds, kHugeSeconds);
    return good ? 0 : 1;
}
