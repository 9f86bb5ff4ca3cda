// Fuzz target for graph files: text, CSV and .npy.

#include <nlohmann/json.hpp>

#include "base/json.hpp"
#include "fuzz.hpp"
#include "graphs/schedule.hpp"
#include "graphs/table_file.hpp"

namespace dbench::fuzz {

const char* const kWords[] = {"0 1\n",     "1 0 0.5\n",  ",",
                              ";",         "#",          "nan",
                              "inf",       "1e308",      "-0",
                              "\x93NUMPY", "'shape': (", "'descr': '<f8'",
                              "True",      "268435456",  "18446744073709551615",
                              "\n",        nullptr};

void read(const std::string& input) {
    const std::string path = in_file(input, "graph.txt");
    static_cast<void>(graphs::read_tables(path, ""));
    const base::Json spec = graphs::resolve_graph({{"type", "file"}, {"path", path}}, "/graph");
    const auto graph = graphs::make_graph(spec, {4, 1, {}}, "/graph");
    static_cast<void>(graph->at(0));
}

}  // namespace dbench::fuzz
