// Rules about the mixing matrices. A matrix whose sums do not suit is reported only once.

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "algorithms/rules/rules.hpp"
#include "base/json.hpp"

namespace dbench::algorithms {
namespace {

Problem biased(const Facts& f, const std::string& what, const std::string& remedy) {
    Problem problem{"/graph", f.matrix->name + what + ", which " + f.algorithm + " does not allow",
                    remedy + ", or accept it with \"allow_biased\": true"};
    if (f.allow_biased) problem = {problem.pointer, problem.reason, "", true};
    return problem;
}

Finding check_sums(const Facts& f) {
    if (!f.matrix || sums_suit(f.traits, *f.matrix)) return {};
    if (f.traits.graph == GraphNeed::column_stochastic) {
        return biased(f,
                      " is not column stochastic (the weights with which a replica sends do not "
                      "sum to 1)",
                      "choose \"weights\": \"column\" or another graph");
    }
    const bool rows = f.matrix->row_sums;
    return biased(f,
                  " is not doubly stochastic (" + std::string(rows ? "columns" : "rows") +
                      " of W do not sum to 1, so averaging " + (rows ? "biases" : "does not keep") +
                      " the mean)",
                  std::string(f.matrix->directed ? "choose an undirected graph"
                                                 : "choose \"weights\": \"metropolis\", another "
                                                   "graph") +
                      ", or the algorithm sgp" +
                      (f.matrix->column_sums ? "" : " with \"weights\": \"column\""));
}

Finding check_tree(const Facts& f) {
    if (!f.matrix || f.traits.graph != GraphNeed::tree) return {};
    if (f.matrix->tree || !sums_suit(f.traits, *f.matrix)) return {};
    return Problem{"/graph",
                   f.matrix->name + " is not a tree, but " + f.algorithm + " relays along one",
                   "choose tree, path, star or double_binary_tree"};
}

Finding check_static(const Facts& f) {
    if (!f.matrix || f.traits.sequences || f.traits.graph == GraphNeed::none) return {};
    if (f.traits.graph == GraphNeed::tree) return {};  // it relays along all trees of a sequence
    if (f.matrix->is_static || !sums_suit(f.traits, *f.matrix)) return {};
    return Problem{"/graph",
                   f.matrix->name + " changes from round to round, but " + f.algorithm +
                       " needs a static graph",
                   "choose one such as ring or torus, or the algorithm dsgd"};
}

Finding check_symmetry(const Facts& f) {
    if (!f.matrix || f.traits.graph != GraphNeed::symmetric) return {};
    if (f.matrix->symmetric || !sums_suit(f.traits, *f.matrix)) return {};
    return biased(f, " is directed (W is not symmetric)",
                  "choose an undirected graph such as ring or torus, or the algorithm "
                  "gradient_tracking, which takes directed ones");
}

Finding check_eigenvalue(const Facts& f) {
    if (!f.matrix || f.traits.graph != GraphNeed::symmetric || !f.matrix->symmetric) return {};
    if (f.matrix->lambda_min > f.traits.lambda_min || !sums_suit(f.traits, *f.matrix)) return {};
    return biased(f,
                  " has the eigenvalue " + base::short_text(base::Json(f.matrix->lambda_min)) +
                      " (it must be above " + base::short_text(base::Json(f.traits.lambda_min)) +
                      ")",
                  "set \"lazy\": 0.5 in the graph, or choose the algorithm exact_diffusion, "
                  "which averages with (I + W) / 2");
}

Finding check_instability(const Facts& f) {
    if (!f.instability) return {};
    const Instability& found = *f.instability;
    char growth[32];
    std::snprintf(growth, sizeof growth, "%.4g", found.growth);
    Problem problem{"/algorithm",
                    f.algorithm + " is unstable on " + found.graph + " with " +
                        std::to_string(found.replicas) + " replicas at any learning rate (their " +
                        (found.of_mean ? "mean" : "disagreement") + " grows by " + growth +
                        (found.per_exchange ? " per exchange" : " per iteration") + ")",
                    found.remedy + ", or accept it with \"allow_unstable\": true"};
    if (f.allow_unstable) problem = {problem.pointer, problem.reason, "", true};
    return problem;
}

}  // namespace

std::vector<Rule> graph_rules() {
    return {
        {"sums",
         "W is doubly stochastic; for push-sum, the columns of W sum to 1 (or allow_biased)",
         check_sums},
        {"tree", "relaysgd requires a tree, or a sequence of trees that repeats", check_tree},
        {"static", "some algorithms require a static graph", check_static},
        {"symmetry", "some algorithms require a symmetric W (or allow_biased)", check_symmetry},
        {"eigenvalue", "d2 requires a smallest eigenvalue of W above -1/3 (or allow_biased)",
         check_eigenvalue},
        {"stability", "the algorithm's linear recursion does not grow (or allow_unstable)",
         check_instability},
    };
}

}  // namespace dbench::algorithms
