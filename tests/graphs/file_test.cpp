// Graphs from files: formats, round trips, and errors.

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "base/error.hpp"
#include "base/random.hpp"
#include "dense.hpp"
#include "graphs/proof/certificate.hpp"
#include "graphs/round_text.hpp"
#include "graphs/table_file.hpp"

using namespace dbench;
using namespace dbench::graphs;
using namespace dbench::graphs::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

// A file that is deleted at the end of the test.
class FileScratch {
public:
    explicit FileScratch(const std::string& content) {
        static int count = 0;
        path_ = (std::filesystem::temp_directory_path() /
                 ("dbench-graph-" + std::to_string(::getpid()) + "-" + std::to_string(count++)))
                    .string();
        std::ofstream(path_, std::ios::binary) << content;
    }
    ~FileScratch() { std::filesystem::remove(path_); }
    std::string spec(const std::string& more = "") const {
        return R"({"type":"file","path":")" + path_ + "\"" + more + "}";
    }

private:
    std::string path_;
};

std::string npy(const Eigen::MatrixXd& w, bool columns_first, const std::string& shape) {
    std::string header = "{'descr': '<f8', 'fortran_order': ";
    header += std::string(columns_first ? "True" : "False") + ", 'shape': " + shape + ", }";
    header.resize(117, ' ');
    header += '\n';
    std::string file("\x93NUMPY\x01\x00", 8);
    file += static_cast<char>(header.size());
    file += '\0';
    file += header;
    const Eigen::MatrixXd written = columns_first ? Eigen::MatrixXd(w.transpose()) : w;
    for (int a = 0; a < written.rows(); ++a) {
        for (int b = 0; b < written.cols(); ++b) {
            file.append(reinterpret_cast<const char*>(&written(a, b)), sizeof(double));
        }
    }
    return file;
}

}  // namespace

TEST_CASE("dbench reads back what it prints", "[graphs]") {
    for (const auto* type : {"torus", "exponential", "star", "erdos_renyi"}) {
        const auto schedule = make(type, 12);
        const auto w = dense(*schedule, {0, true});
        std::ostringstream edges;
        std::ostringstream matrix;
        print_edges(edges, *schedule, {0, true});
        print_matrix(matrix, *schedule, {0, true});
        INFO(type);
        for (const auto& text : {edges.str(), matrix.str()}) {
            const FileScratch file(text);
            CHECK((dense(file.spec(), 12) - w).cwiseAbs().maxCoeff() < 1e-15);
        }
        std::string csv = matrix.str();
        std::replace(csv.begin(), csv.end(), ' ', ',');
        CHECK((dense(FileScratch(csv).spec(), 12) - w).cwiseAbs().maxCoeff() < 1e-15);
        for (const bool columns_first : {false, true}) {
            const FileScratch file(npy(w, columns_first, "(12, 12)"));
            CHECK((dense(file.spec(), 12) - w).cwiseAbs().maxCoeff() < 1e-15);
        }
    }
}

TEST_CASE("edges of a matrix that is not symmetric are read back as they are", "[graphs]") {
    for (const char* type :
         {R"({"type":"path","weights":"uniform"})", R"({"type":"star","weights":"column"})"}) {
        const auto schedule = make(type, 5);
        std::ostringstream edges;
        print_edges(edges, *schedule, {0, true});
        const FileScratch file(edges.str());
        const auto w = dense(*schedule, {0, true});
        CHECK((dense(file.spec(), 5) - w).cwiseAbs().maxCoeff() < 1e-15);
    }
}

TEST_CASE("edges without weights get the weights of the rule", "[graphs]") {
    const FileScratch path("# a path\n0 1\n1,2\n\n2 3 # the end\n");
    CHECK(dense(path.spec(), 4).isApprox(dense("path", 4), 1e-15));
    CHECK(dense(path.spec(R"(,"weights":"laplacian")"), 4)
              .isApprox(dense(R"({"type":"path","weights":"laplacian"})", 4), 1e-12));
    const FileScratch cycle("1 0\n2 1\n0 2\n");
    CHECK(dense(cycle.spec(R"(,"directed":true,"format":"edges")"), 3)
              .isApprox(dense("one_way_ring", 3), 1e-15));
    const FileScratch adjacency("0 1 1 0\n1 0 0 1\n1 0 0 1\n0 1 1 0\n");
    CHECK(dense(adjacency.spec(), 4).isApprox(dense("torus", 4), 1e-15));
    const FileScratch column("0 0 0.5\n1 0 0.5\n1 1 1\n");
    const auto c = certify(*make(column.spec(), 2), "file");
    CHECK((c.column_stochastic && !c.row_stochastic && !c.connected));
}

TEST_CASE("an invalid file is refused with a reason", "[graphs]") {
    CHECK_THROWS_WITH(make(R"({"type":"file","path":"/nowhere/graph.txt"})", 3),
                      ContainsSubstring("/nowhere/graph.txt"));
    CHECK_THROWS_WITH(make(R"({"type":"file"})", 3), ContainsSubstring("/graph/path"));
    CHECK_THROWS_WITH(make(FileScratch("0 1\n1 x\n").spec(), 4), ContainsSubstring("line 2"));
    CHECK_THROWS_WITH(make(FileScratch("0 9\n").spec(), 4), ContainsSubstring("is not a replica"));
    CHECK_THROWS_WITH(make(FileScratch("0 1\n1 2 0.5\n").spec(), 4), ContainsSubstring("row 2"));
    CHECK_THROWS_WITH(make(FileScratch("0 1 0.5\n0 1 0.5\n").spec(), 4),
                      ContainsSubstring("twice"));
    CHECK_THROWS_WITH(make(FileScratch("0.5 0.2\n0.3 0.5\n").spec(), 2),
                      ContainsSubstring("sums to 0.7"));
    CHECK_THROWS_WITH(make(FileScratch("2 -1\n-1 2\n").spec(), 2), ContainsSubstring("negative"));
    CHECK_THROWS_WITH(make(FileScratch("1 0\n0 1\n").spec(R"(,"format":"matrix")"), 3),
                      ContainsSubstring("3 rows of 3"));
    const auto whole = npy(Eigen::MatrixXd::Identity(3, 3), false, "(3, 3)");
    CHECK_THROWS_WITH(
        make(FileScratch(whole.substr(0, whole.size() - 1)).spec(), 3),
        ContainsSubstring("truncated") && ContainsSubstring("write it again with numpy.save"));
    CHECK_THROWS_AS(
        make(FileScratch(npy(Eigen::MatrixXd::Identity(3, 3), false, "(3, 3, 1)")).spec(), 3),
        base::UserError);
    CHECK_THROWS_WITH(make(FileScratch("0 1\n1 nan\n").spec(), 3), ContainsSubstring("finite"));
}

TEST_CASE("an array of three dimensions holds a matrix for each round", "[graphs]") {
    const int n = 6, rounds = 4;
    const auto drawn = make(R"({"type":"od_equidyn","degree":5})", n);
    std::vector<Eigen::MatrixXd> all;
    for (int t = 0; t < rounds; ++t) all.push_back(dense(*drawn, drawn->at(t)));
    all[2] = Eigen::MatrixXd::Identity(n, n);  // a round without messages
    Eigen::MatrixXd rows(rounds * n, n), columns(rounds, n * n);
    for (int t = 0; t < rounds; ++t) {
        rows.middleRows(t * n, n) = all[t];
        columns.row(t) = all[t].reshaped().transpose();
    }
    for (const bool columns_first : {false, true}) {
        const FileScratch file(npy(columns_first ? columns : rows, columns_first, "(4, 6, 6)"));
        INFO("columns first: " << columns_first);
        const auto schedule = make(file.spec(), n);
        REQUIRE(schedule->period() == rounds);
        for (int t = 0; t < 2 * rounds; ++t) {
            CHECK((dense(*schedule, schedule->at(t)) - all[t % rounds]).cwiseAbs().maxCoeff() <
                  1e-15);
        }
        const auto lazy = make(file.spec(R"(,"lazy":0.5)"), n);
        CHECK(dense(*lazy, lazy->at(1))
                  .isApprox((all[1] + Eigen::MatrixXd::Identity(n, n)) / 2, 1e-14));
        CHECK_THROWS_WITH(make(file.spec(), 5), ContainsSubstring("matrices of 5 rows of 5"));
        CHECK_THROWS_WITH(make(file.spec(R"(,"format":"edges")"), n),
                          ContainsSubstring("/graph/format"));
    }
    rows(n + 1, 0) += 0.5;
    CHECK_THROWS_WITH(make(FileScratch(npy(rows, false, "(4, 6, 6)")).spec(), n),
                      ContainsSubstring("round 1: row 2"));
    rows(3 * n + 2, 4) = std::numeric_limits<double>::quiet_NaN();
    CHECK_THROWS_WITH(make(FileScratch(npy(rows, false, "(4, 6, 6)")).spec(), n),
                      ContainsSubstring("round 3: row 2 holds"));
    CHECK_THROWS_WITH(make(FileScratch(npy(rows, false, "(4, 6, 3, 2)")).spec(), n),
                      ContainsSubstring("three (a matrix for each round)"));
}

TEST_CASE("damaged files never crash", "[graphs]") {
    const auto w = dense("torus", 6);
    std::ostringstream text;
    print_edges(text, *make("torus", 6), {0, true});
    const std::vector<std::string> originals = {npy(w, false, "(6, 6)"), text.str(),
                                                npy(w, false, "(1, 6, 6)")};
    base::Random random(7, base::Purpose::graph);
    int good = 0;
    for (int trial = 0; trial < 4000; ++trial) {
        const int kind = trial % 8 == 2 ? 2 : trial % 2;
        std::string content = originals[kind];
        const auto changes = 1 + random.below(8);
        for (uint64_t c = 0; c < changes; ++c) {
            const auto at = random.below(trial % 4 < 2 ? std::min<size_t>(content.size(), 140)
                                                       : content.size());
            content[at] = static_cast<char>(random.below(256));
        }
        if (random.below(4) == 0) content.resize(random.below(content.size()));
        try {
            const auto table =
                trial % 2 == 0 ? parse_npy(content, "f").front() : parse_text(content, "f", "");
            good += table.empty() ? 0 : 1;
            const FileScratch file(content);
            const auto schedule = make(file.spec(), 6);
            check_round(*schedule, schedule->at(0), false);
        } catch (const base::UserError&) {
        }
    }
    CHECK(good > 0);
}

TEST_CASE("files that a graph is read from are recorded once, also in lists", "[graphs]") {
    const FileScratch a("0 1\n1 2\n2 0\n"), b("0 1\n1 2\n");
    const std::string list = "[" + a.spec(R"(,"until":{"iterations":2})") + "," +
                             b.spec(R"(,"until":{"iterations":4})") + "," + a.spec() + "]";
    GraphContext context{3, 1, {}};
    context.inputs = std::make_shared<std::vector<base::InputDigest>>();
    make_graph(resolve_graph(base::Json::parse(list), "/graph"), context, "/graph");
    REQUIRE(context.inputs->size() == 2);
    CHECK(context.inputs->at(0).bytes == 12);
    CHECK(context.inputs->at(1).bytes == 8);
    CHECK(context.inputs->at(0).digest != context.inputs->at(1).digest);
}
