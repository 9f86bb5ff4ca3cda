// The graph `file`: reads a matrix W, an adjacency matrix, a list of edges "to from [weight]", or a
// sequence of matrices from a user's file. Weights in the file are used as they are if the rows or
// the columns sum to 1 to 1e-6. If the spec sets a rule in `weights`, or the edges have no weights,
// the rule determines them.

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/path_text.hpp"
#include "graphs/table_file.hpp"
#include "graphs/types/families.hpp"

namespace dbench::graphs {
namespace {

constexpr double kFileSumTolerance = 1e-6;  // files print few digits

std::string row_name(size_t row) { return "row " + std::to_string(row + 1); }

bool is_matrix(const NumberTable& table, size_t n) {
    return table.size() == n && std::all_of(table.begin(), table.end(),
                                            [n](const auto& row) { return row.size() == n; });
}

int replica(double value, int n, size_t row, const std::string& path) {
    if (value != std::floor(value) || value < 0 || value >= n) {
        throw base::UserError(path + ": " + row_name(row) + ": " + base::short_text(value) +
                              " is not a replica (replicas are 0 to " + std::to_string(n - 1) +
                              "; a matrix would have " + std::to_string(n) + " rows of " +
                              std::to_string(n) + " numbers)");
    }
    return static_cast<int>(value);
}

// Checks that rows or columns sum to 1 to the digits of a file, and scales them to sum to 1 to
// rounding.
MatrixPtr given_weights(int n, std::vector<MatrixEntry> entries, const std::string& path) {
    std::vector<double> rows(n, 0.0);
    std::vector<double> columns(n, 0.0);
    for (const MatrixEntry& entry : entries) {
        rows[entry.to] += entry.weight;
        columns[entry.from] += entry.weight;
        if (entry.weight < 0 && entry.to != entry.from) {
            throw base::UserError(path + ": " + row_name(entry.to) + ": weight " +
                                  base::short_text(entry.weight) + " of replica " +
                                  std::to_string(entry.from) +
                                  " is negative: weights between "
                                  "replicas must be positive");
        }
    }
    const auto worst = [](const std::vector<double>& sums) {
        return std::max_element(sums.begin(), sums.end(), [](double a, double b) {
            return std::abs(a - 1) < std::abs(b - 1);
        });
    };
    const bool by_rows = std::abs(*worst(rows) - 1) <= kFileSumTolerance;
    const bool by_columns = std::abs(*worst(columns) - 1) <= kFileSumTolerance;
    if (!by_rows && !by_columns) {
        const auto row = static_cast<size_t>(worst(rows) - rows.begin());
        throw base::UserError(path + ": " + row_name(row) + " sums to " +
                              base::short_text(rows[row]) +
                              " (rows, or columns, of a mixing matrix "
                              "must sum to 1): correct it, or replace the weights by a rule, such "
                              "as \"weights\": \"metropolis\" (\"column\" for directed edges)");
    }
    for (int i = 0; i < n; ++i) entries.push_back({i, i, 1 - (by_rows ? rows : columns)[i]});
    return explicit_matrix(n, std::move(entries));
}

enum class FileFormat : uint8_t { automatic, edges, matrix };

struct FileSpec : WeightSpec {
    std::string path;
    FileFormat format;
    /// Edges lead only in the direction given (true) or in both (false). Empty: see is_directed.
    std::optional<bool> directed;

    static const base::Section<FileSpec>& section();
};

const base::Section<FileSpec>& FileSpec::section() {
    static const base::Section<FileSpec> keys{
        {{base::Parameter::text(
              "path", "",
              "lines \"to from [weight]\", n rows of n numbers, or such rows for each round"),
          &FileSpec::path},
         {base::Words<FileFormat>("format",
                                  {{"auto", FileFormat::automatic},
                                   {"edges", FileFormat::edges},
                                   {"matrix", FileFormat::matrix}},
                                  FileFormat::automatic,
                                  "auto: a matrix if the file has n rows of n numbers"),
          &FileSpec::format},
         {base::Parameter::flag(
              "directed", "null",
              "lists: true: edges lead only in the direction given; false: in both; null: false, "
              "but lists with weights that name both directions, or a weight of a replica for "
              "itself, are used as they are")
              .or_null(),
          &FileSpec::directed}},
        WeightSpec::section()};
    return keys;
}

// True if the spec sets a rule, which overrides weights in the file.
bool reweighed(const WeightSpec& spec) { return spec.weights != "auto"; }

// The lines of a list, and facts about them.
struct EdgeList {
    bool weights = false;  ///< Lines are "to from weight".
    std::vector<MatrixEntry> entries;
    std::map<std::pair<int, int>, double> given;  ///< by (to, from)
    bool with_self = false;                       ///< Some line is about one replica alone.
    bool pairs = false;                           ///< Some edge is given in both directions.
    bool one_way = false;                         ///< Some edge is given in one direction.
    bool unequal = false;              ///< Two directions of an edge have different weights.
    std::vector<double> off_diagonal;  ///< Sums of the rows, without the diagonal.
};

EdgeList edge_list_of(const NumberTable& table, int n, const std::string& path) {
    const size_t width = table.empty() ? 2 : table.front().size();
    EdgeList list;
    list.weights = width == 3;
    list.off_diagonal.resize(n, 0.0);
    for (size_t r = 0; r < table.size(); ++r) {
        const auto& row = table[r];
        if (row.size() != width || width < 2 || width > 3) {
            throw base::UserError(
                path + ": " + row_name(r) + " has " + std::to_string(row.size()) +
                " numbers (an edge is \"to from\" or \"to from weight\", the same "
                "in all rows)");
        }
        const int to = replica(row[0], n, r, path);
        const int from = replica(row[1], n, r, path);
        const double weight = list.weights ? row[2] : 1.0;
        if (!list.given.emplace(std::pair{to, from}, weight).second && list.weights) {
            throw base::UserError(path + ": " + row_name(r) + ": the edge " + std::to_string(to) +
                                  " " + std::to_string(from) + " is given twice: remove one");
        }
        list.entries.push_back({to, from, weight});
        list.with_self |= to == from;
        if (to != from) list.off_diagonal[to] += weight;
    }
    for (const auto& [edge, weight] : list.given) {
        if (edge.first == edge.second) continue;
        const auto back = list.given.find({edge.second, edge.first});
        (back != list.given.end() ? list.pairs : list.one_way) = true;
        list.unequal |= back != list.given.end() && back->second != weight;
    }
    return list;
}

// True if the edges lead only in the direction given. A list with weights in which every edge
// stands once, as programs write undirected graphs, is undirected. If it is a complete matrix (with
// weights of replicas for themselves, or rows that sum to 1), or if some edges stand there in both
// directions, it is used as it is; so is a list whose directions have different weights.
bool is_directed(const EdgeList& list, const FileSpec& spec) {
    if (spec.directed) return *spec.directed;
    if (!list.weights) return false;
    const bool complete =
        std::all_of(list.off_diagonal.begin(), list.off_diagonal.end(),
                    [](double sum) { return std::abs(sum - 1) <= kFileSumTolerance; });
    return list.unequal || (list.one_way && (list.pairs || list.with_self || complete));
}

// Adds the other direction of every edge that is given once. Throws UserError if the two directions
// of an edge have different weights.
void make_symmetric(EdgeList& list, const std::string& path) {
    for (const auto& [edge, weight] : list.given) {
        const auto [to, from] = edge;
        const auto back = list.given.find({from, to});
        if (back != list.given.end() && back->second != weight) {
            throw base::UserError(
                path + ": the edges " + std::to_string(to) + " " + std::to_string(from) + " and " +
                std::to_string(from) + " " + std::to_string(to) + " have the weights " +
                base::short_text(weight) + " and " + base::short_text(back->second) +
                " (with \"directed\": false both are the same): correct one, or set "
                "\"directed\": true");
        }
        if (back != list.given.end()) continue;
        list.entries.push_back({from, to, weight});
        list.off_diagonal[from] += weight;
    }
}

// Reads lines "to from" or "to from weight", the output format of `dbench graph --edges`.
std::unique_ptr<Schedule> from_list(const NumberTable& table, const FileSpec& spec,
                                    const GraphContext& context, const std::string& pointer,
                                    const std::string& path) {
    const int n = context.n;
    EdgeList list = edge_list_of(table, n, path);
    const bool directed = is_directed(list, spec);
    if (!list.weights || reweighed(spec)) {
        std::vector<Edge> edges;
        for (const MatrixEntry& entry : list.entries) edges.emplace_back(entry.from, entry.to);
        return weighted_graph(from_edges(n, edges, directed), spec, pointer);
    }
    if (!directed) make_symmetric(list, path);
    for (int i = 0; i < n && !list.with_self; ++i) {
        list.entries.push_back({i, i, 1 - list.off_diagonal[i]});
    }
    return static_schedule(apply_lazy(given_weights(n, std::move(list.entries), path), spec));
}

// Reads a matrix of weights. If all numbers are 0 or 1 and rows do not sum to 1, it is an adjacency
// matrix: row i marks the replicas from which i receives.
std::unique_ptr<Schedule> from_matrix(const NumberTable& table, const FileSpec& spec,
                                      const GraphContext& context, const std::string& pointer,
                                      const std::string& path) {
    std::vector<Edge> edges;
    std::vector<MatrixEntry> entries;
    bool adjacency = false;
    bool plain = true;
    bool symmetric = true;
    bool same_values = true;
    for (int i = 0; i < context.n; ++i) {
        double sum = 0;
        for (int j = 0; j < context.n; ++j) {
            const double value = table[i][j];
            sum += value;
            plain &= value == 0 || value == 1;
            symmetric &= (value != 0) == (table[j][i] != 0);
            same_values &= std::abs(value - table[j][i]) <= kFileSumTolerance;
            if (value == 0) continue;
            entries.push_back({i, j, value});
            edges.emplace_back(j, i);
        }
        adjacency |= std::abs(sum - 1) > kFileSumTolerance;
    }
    if (!spec.directed.value_or(true) && !same_values) {
        throw base::UserError(pointer + "/directed: is false, but the matrix of " + path +
                              " is not symmetric: correct the file, or leave the key out");
    }
    if (!reweighed(spec) && (!plain || !adjacency))
        return static_schedule(apply_lazy(given_weights(context.n, entries, path), spec));
    return weighted_graph(from_edges(context.n, edges, !symmetric), spec, pointer);
}

// Reads a matrix for each round. After the last one the sequence starts again.
std::unique_ptr<Schedule> from_sequence(const std::vector<NumberTable>& tables,
                                        const FileSpec& spec, const GraphContext& context,
                                        const std::string& pointer) {
    if (spec.format == FileFormat::edges) {
        throw base::UserError(pointer + "/format: is \"edges\", but " + spec.path +
                              " is an array of three dimensions, which holds matrices: leave the "
                              "key out");
    }
    std::vector<MatrixPtr> matrices;
    for (size_t t = 0; t < tables.size(); ++t) {
        const std::string place = spec.path + ": round " + std::to_string(t);
        const auto round = from_matrix(tables[t], spec, context, pointer, place);
        matrices.push_back(round->matrix(round->at(0)));
    }
    return cyclic_schedule(std::move(matrices));
}

std::unique_ptr<Schedule> make_file(const FileSpec& spec, const GraphContext& context,
                                    const std::string& pointer) {
    const std::string& path = spec.path;
    base::check_path_text(path, pointer + "/path");
    const std::vector<NumberTable> tables = read_tables(
        path, "number the nodes from 0; networkx does so by nx.convert_node_labels_to_integers(G)",
        context.inputs.get());
    const NumberTable& table = tables.front();
    const bool square = is_matrix(table, static_cast<size_t>(context.n));
    const bool sequence = tables.size() > 1;
    if ((spec.format == FileFormat::matrix || sequence) && !square) {
        throw base::UserError(path + ": not " + (sequence ? "matrices" : "a matrix") + " of " +
                              std::to_string(context.n) + " rows of " + std::to_string(context.n) +
                              " numbers (one for every replica): correct "
                              "it, or set replicas to its size");
    }
    if (sequence) return from_sequence(tables, spec, context, pointer);
    if (spec.format == FileFormat::matrix || (spec.format == FileFormat::automatic && square)) {
        return from_matrix(table, spec, context, pointer, path);
    }
    return from_list(table, spec, context, pointer, path);
}

}  // namespace

GraphEntry file_entry() {
    return {"file", "edges, a matrix or a sequence of matrices from a file: text, CSV or .npy",
            make_file};
}

}  // namespace dbench::graphs
