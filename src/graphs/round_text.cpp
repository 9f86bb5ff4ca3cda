#include "graphs/round_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ostream>

namespace dbench::graphs {
namespace {

// Returns the shortest text that reads back as the same number.
std::string round_body(double value) {
    char buffer[32];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
    return {buffer, end};
}

}  // namespace

void print_matrix(std::ostream& out, const Schedule& schedule, Round round) {
    for (int i = 0; i < schedule.size(); ++i) {
        std::vector<double> row(schedule.size(), 0.0);
        for (const Link& link : schedule.in(round, i)) row[link.peer] = link.weight;
        for (size_t j = 0; j < row.size(); ++j) out << (j == 0 ? "" : " ") << round_body(row[j]);
        out << '\n';
    }
}

void print_edges(std::ostream& out, const Schedule& schedule, Round round) {
    for (int i = 0; i < schedule.size(); ++i) {
        for (const Link& link : schedule.in(round, i)) {
            out << i << ' ' << link.peer << ' ' << round_body(link.weight) << '\n';
        }
    }
}

void print_dot(std::ostream& out, const Schedule& schedule, Round round, const std::string& name) {
    bool symmetric = true;
    for (int i = 0; i < schedule.size() && symmetric; ++i) {
        const auto in = schedule.in(round, i), back = schedule.out(round, i);
        symmetric = std::equal(
            in.begin(), in.end(), back.begin(), back.end(),
            [](const Link& a, const Link& b) { return a.peer == b.peer && a.weight == b.weight; });
    }
    out << (symmetric ? "graph" : "digraph") << " \"" << name << "\" {\n  layout=circo\n";
    for (int i = 0; i < schedule.size(); ++i) {
        out << "  " << i << '\n';
        for (const Link& link : schedule.in(round, i)) {
            if (link.peer == i || (symmetric && link.peer > i)) continue;
            out << "  " << link.peer << (symmetric ? " -- " : " -> ") << i << " [label=\""
                << round_body(std::round(link.weight * 1e4) / 1e4) << "\"]\n";
        }
    }
    out << "}\n";
}

}  // namespace dbench::graphs
