#include "graphs/drawing.hpp"

#include <charconv>
#include <ostream>

namespace dbench::graphs {
namespace {

// The shortest text that reads back as the same number.
std::string text(double value) {
    char buffer[32];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
    return {buffer, end};
}

}  // namespace

void print_matrix(std::ostream& out, const Schedule& schedule, Round round) {
    for (int i = 0; i < schedule.size(); ++i) {
        std::vector<double> row(schedule.size(), 0.0);
        for (const Link& link : schedule.in(round, i)) row[link.peer] = link.weight;
        for (size_t j = 0; j < row.size(); ++j) out << (j == 0 ? "" : " ") << text(row[j]);
        out << '\n';
    }
}

void print_edges(std::ostream& out, const Schedule& schedule, Round round) {
    for (int i = 0; i < schedule.size(); ++i) {
        for (const Link& link : schedule.in(round, i)) {
            out << i << ' ' << link.peer << ' ' << text(link.weight) << '\n';
        }
    }
}

}  // namespace dbench::graphs
