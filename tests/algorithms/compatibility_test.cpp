// Tests of the compatibility rules: for each rule, facts that it refuses and facts that it accepts.

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "algorithms/compatibility.hpp"
#include "base/error.hpp"
#include "catch.hpp"

namespace dbench::algorithms {
namespace {

using Catch::Matchers::ContainsSubstring;
using Change = std::function<void(Facts&)>;

struct Example {
    const char* rule;
    const char* algorithm;  ///< Name, or an object with keys.
    Change refused;         ///< Adds facts that the rule refuses.
    Change accepted;        ///< Changes these facts so that the rule accepts them.
    const char* pointer;
    const char* words;  ///< Part of the message.
};

Facts facts_about(const std::string& algorithm) {
    const bool object = algorithm.front() == '{';
    return facts_of(
        resolve_algorithm(object ? base::Json::parse(algorithm) : base::Json(algorithm)));
}

void on_gpu(Facts& f) {
    f.model = ModelFacts{};
    f.data = DataFacts{.classes = 10, .batch_size = 8};
    f.passes = PassFacts{.on_host = false};
}

// The change that makes an example acceptable by another algorithm.
Change with(const char* algorithm) {
    return [algorithm](Facts& f) {
        const Facts other = facts_about(algorithm);
        f.algorithm = other.algorithm;
        f.traits = other.traits;
        f.momentum_key = other.momentum_key;
    };
}

Change resumes(int64_t before, int64_t now, bool same_global_batch = true) {
    return [=](Facts& f) {
        f.ranks = RankFacts{.replicas = now};
        f.resume = ResumeFacts{.replicas = before, .same_global_batch = same_global_batch};
    };
}

const std::vector<Example>& examples() {
    static const std::vector<Example> all = {
        {"ranks", "dsgd", [](Facts& f) { f.ranks = RankFacts{.replicas = 2, .ranks = 3}; },
         [](Facts& f) { f.ranks->replicas = 3; }, "/replicas", "3 ranks for 2 replicas"},
        {"asynchronous ranks", "swift",
         [](Facts& f) { f.ranks = RankFacts{.replicas = 4, .ranks = 2}; },
         [](Facts& f) { f.ranks->ranks = 4; }, "/algorithm", "2 ranks for 4 replicas"},
        {"asynchronous ranks", "swift",
         [](Facts& f) { f.ranks = RankFacts{.replicas = 4, .ranks = 2}; }, with("dsgd"),
         "/algorithm", "start 1 or 4"},
        {"asynchronous device", "swift",
         [](Facts& f) { f.ranks = RankFacts{.replicas = 2, .ranks = 2, .on_gpus = true}; },
         [](Facts& f) { f.ranks->on_gpus = false; }, "/device", "set \"cpu\""},
        {"reproducibility", "ad_psgd",
         [](Facts& f) { f.ranks = RankFacts{.replicas = 2, .ranks = 2, .reproducible = true}; },
         [](Facts& f) { f.ranks->ranks = 1; }, "/algorithm", "timing"},
        {"graph", "centralized", [](Facts& f) { f.graph_given = true; },
         [](Facts& f) { f.graph_given = false; }, "/graph", "uses no graph"},
        {"graph", "dsgd", [](Facts& f) { f.graph_given = false; },
         [](Facts& f) { f.graph_given = true; }, "/graph", "is missing"},
        {"clipping", "ntk_dfl",
         [](Facts& f) { f.optimizer = OptimizerFacts{.type = "sgd", .clips = true}; },
         [](Facts& f) { f.optimizer->clips = false; }, "/optimizer/clip_norm", "remove it"},
        {"optimizer", "d2", [](Facts& f) { f.optimizer = OptimizerFacts{.type = "adam"}; },
         [](Facts& f) { f.optimizer->type = "sgd"; }, "/optimizer/type", "cannot use adam"},
        {"momentum", "d2",
         [](Facts& f) { f.optimizer = OptimizerFacts{.type = "sgd", .momentum = true}; },
         [](Facts& f) { f.optimizer->momentum = false; }, "/optimizer/momentum", "remove it"},
        {"momentum", R"({"type": "slowmo", "base": "qg_dsgdm"})",
         [](Facts& f) { f.optimizer = OptimizerFacts{.type = "sgd", .momentum = true}; },
         with("slowmo"), "/optimizer/momentum", "set /algorithm/base/beta instead"},
        {"momentum", "decentlam",
         [](Facts& f) { f.optimizer = OptimizerFacts{.type = "sgd", .momentum = true}; },
         with("dsgd"), "/optimizer/momentum", "set /algorithm/beta"},
        {"normalised values", "dsgd",
         [](Facts& f) {
             f.model = ModelFacts{.statistics = true, .normalised_values = 1};
             f.data = DataFacts{.batch_size = 5};
             f.passes = PassFacts{.microbatches = 3};
         },
         [](Facts& f) { f.passes->microbatches = 2; }, "/data/batch_size", "at least 2 samples"},
        {"normalised values", "dsgd",
         [](Facts& f) {
             f.model = ModelFacts{.statistics = true, .normalised_values = 1};
             f.data = DataFacts{.batch_size = 4};
             f.passes = PassFacts{.recalibrated_samples = 1};
         },
         [](Facts& f) { f.model->normalised_values = 4; }, "/evaluate/batch_size", "pooled"},
        {"scaled rate", "dsgd",
         [](Facts& f) {
             f.data = DataFacts{.token_batches = true};
             f.scaled_rate = true;
         },
         [](Facts& f) { f.scaled_rate = false; }, "/schedule/scale", "counts tokens"},
        {"start", "slowmo", [](Facts& f) { f.independent_start = true; },
         [](Facts& f) { f.independent_start = false; }, "/init", "independent"},
        {"fixed start", "dsgd",
         [](Facts& f) {
             f.independent_start = true;
             f.model = ModelFacts{.fixed_start = true};
         },
         [](Facts& f) { f.model->fixed_start = false; }, "/init", "choose same or zeros"},
        {"own messages", "moniqua",
         [](Facts& f) { f.message = MessageFacts{.codec = "bfloat16", .changes_rows = true}; },
         [](Facts& f) { f.message = MessageFacts{}; }, "/message", "encodes its messages itself"},
        {"exact rows", "sgp",
         [](Facts& f) { f.message = MessageFacts{.codec = "float16", .changes_rows = true}; },
         with("dsgd"), "/message", "a W whose rows sum to 1"},
        {"exact rows", "swift",
         [](Facts& f) { f.message = MessageFacts{.codec = "float16", .changes_rows = true}; },
         with("dsgd"), "/message", "asynchronous algorithms are rows as they are"},
        {"codec", "dsgd",
         [](Facts& f) {
             f.message = message_facts({{"type", "top_k"}});
         },
         with("choco"), "/message", "choose one (quantized_push_sum, choco, "},
        {"reduction", "dsgd",
         [](Facts& f) {
             f.message = message_facts("bfloat16");
             f.arithmetic = ArithmeticFacts{.library_reduction = true};
         },
         [](Facts& f) { f.message = message_facts("float32"); }, "/message", "MPI's library"},
        {"compute", "dsgd",
         [](Facts& f) { f.arithmetic = ArithmeticFacts{.float32 = false, .bfloat16 = true}; },
         [](Facts& f) { f.arithmetic->float32 = true; }, "/compute", "float64"},
        {"compute", "dsgd",
         [](Facts& f) { f.arithmetic = ArithmeticFacts{.float32 = false, .tf32 = true}; },
         [](Facts& f) { f.arithmetic->tf32 = false; }, "/compute", "tf32 requires"},
        {"tensor cores", "dsgd",
         [](Facts& f) {
             f.arithmetic = ArithmeticFacts{.tf32 = true};
             f.passes = PassFacts{.on_host = true};
         },
         [](Facts& f) { f.passes->on_host = false; }, "/compute", "train on the CPU"},
        {"sums", "dsgd", [](Facts& f) { f.matrix = MatrixFacts{.row_sums = false}; },
         [](Facts& f) { f.matrix->row_sums = true; }, "/graph", "does not keep the mean"},
        {"sums", "dsgd", [](Facts& f) { f.matrix = MatrixFacts{.column_sums = false}; },
         [](Facts& f) { f.matrix->column_sums = true; }, "/graph", "biases the mean"},
        {"sums", "sgp", [](Facts& f) { f.matrix = MatrixFacts{.column_sums = false}; },
         [](Facts& f) { f.matrix = MatrixFacts{.row_sums = false}; }, "/graph",
         "not column stochastic"},
        {"tree", "relaysgd", [](Facts& f) { f.matrix = MatrixFacts{.tree = false}; },
         [](Facts& f) { f.matrix->tree = true; }, "/graph",
         "choose tree, path, star or double_binary_tree"},
        {"static", "choco", [](Facts& f) { f.matrix = MatrixFacts{.is_static = false}; },
         with("dsgd"), "/graph", "needs a static graph"},
        {"symmetry", "d2", [](Facts& f) { f.matrix = MatrixFacts{.symmetric = false}; },
         with("gradient_tracking"), "/graph", "is directed"},
        {"eigenvalue", "d2", [](Facts& f) { f.matrix = MatrixFacts{.lambda_min = -0.5}; },
         [](Facts& f) { f.matrix->lambda_min = -0.2; }, "/graph", "has the eigenvalue -0.5"},
        {"stability", "d2",
         [](Facts& f) {
             f.instability = Instability{.graph = "ring",
                                         .replicas = 8,
                                         .growth = 1.25,
                                         .remedy = "set /graph/lazy to 0.5"};
         },
         [](Facts& f) { f.instability.reset(); }, "/algorithm",
         "their disagreement grows by 1.25 per iteration): set /graph/lazy to 0.5, or accept"},
        {"smoothed classes", "dsgd",
         [](Facts& f) {
             f.passes = PassFacts{.smooths_labels = true};
             f.data = DataFacts{.classes = 0};
         },
         [](Facts& f) { f.data->classes = 10; }, "/label_smoothing", "real targets"},
        {"smoothed gradient", "ntk_dfl",
         [](Facts& f) { f.passes = PassFacts{.smooths_labels = true}; }, with("dsgd"),
         "/label_smoothing", "uses none"},
        {"smoothed loss", "dsgd",
         [](Facts& f) {
             f.passes = PassFacts{.smooths_labels = true};
             f.model = ModelFacts{.own_loss = true};
         },
         [](Facts& f) { f.model->own_loss = false; }, "/label_smoothing", "in that function"},
        {"own loss", "ntk_dfl", [](Facts& f) { f.model = ModelFacts{.own_loss = true}; },
         with("dsgd"), "/model", "squared errors"},
        {"micro-batches", "dsgd",
         [](Facts& f) {
             f.passes = PassFacts{.microbatches = 4};
             f.data = DataFacts{.batch_size = 3};
         },
         [](Facts& f) { f.data->batch_size = 4; }, "/data/accumulate", "use at most 3"},
        {"gradient of micro-batches", "feddkd",
         [](Facts& f) { f.passes = PassFacts{.microbatches = 2}; }, with("dsgd"),
         "/data/accumulate", "more than its gradient"},
        {"carried state of micro-batches", "dsgd",
         [](Facts& f) {
             f.passes = PassFacts{.microbatches = 2};
             f.model = ModelFacts{.carries = true};
         },
         [](Facts& f) { f.passes->microbatches = 1; }, "/data/accumulate", "divides a batch"},
        {"streams", "dsgd",
         [](Facts& f) {
             on_gpu(f);
             f.passes->on_host = true;
             f.passes->streams = true;
         },
         [](Facts& f) { f.passes->on_host = false; }, "/stacking", "the CPU has no streams"},
        {"streams", "ntk_dfl",
         [](Facts& f) {
             on_gpu(f);
             f.passes->streams = true;
         },
         with("dsgd"), "/stacking", "one after another"},
        {"batched", "dsgd",
         [](Facts& f) {
             on_gpu(f);
             f.passes->batched = true;
             f.model->draws = true;
         },
         [](Facts& f) { f.model->draws = false; }, "/stacking", "dropout"},
        {"capture", "dsgd",
         [](Facts& f) {
             on_gpu(f);
             f.passes->captured = true;
             f.data->ragged = true;
         },
         [](Facts& f) { f.data->ragged = false; }, "/capture", "may differ in size"},
        {"carried evaluation", "dsgd",
         [](Facts& f) {
             f.passes = PassFacts{.carried_evaluation = true};
             f.model = ModelFacts{};
         },
         [](Facts& f) { f.model->carries = true; }, "/evaluate/state", "carries no state"},
        {"rates", "gut", [](Facts& f) { f.zero_rate = 7; }, with("dsgd"), "/optimizer/lr",
         "is 0 in iteration 7"},
        {"statistics", "ntk_dfl", [](Facts& f) { f.model = ModelFacts{.statistics = true}; },
         [](Facts& f) { f.model->statistics = false; }, "/model", "BatchNorm"},
        {"tokens", "ntk_dfl", [](Facts& f) { f.data = DataFacts{.tokens = true}; },
         [](Facts& f) { f.data->tokens = false; }, "/data", "position of a text"},
        {"full batches", "ntk_dfl", [](Facts& f) { f.data = DataFacts{.full_batches = true}; },
         [](Facts& f) { f.data->full_batches = false; }, "/data/batch_size", "\"full\""},
        {"temperature", R"({"type": "feddkd", "temperature": 2})",
         [](Facts& f) { f.data = DataFacts{}; }, with("feddkd"), "/algorithm/temperature",
         "unscaled"},
        {"repeated averaging", "local_sgd",
         [](Facts& f) { f.schedule = ScheduleFacts{.staged = true, .repeats = true}; },
         with("dsgd"), "/graph", "several times in an iteration"},
        {"staged", "ad_psgd", [](Facts& f) { f.schedule = ScheduleFacts{.staged = true}; },
         [](Facts& f) { f.schedule->staged = false; }, "/graph", "each replica counts its own"},
        {"measured after", "swift", [](Facts& f) { f.profiles_after = true; },
         [](Facts& f) { f.profiles_after = false; }, "/profile/after", "no moment"},
        {"resumed links", "powergossip", resumes(4, 8), resumes(4, 4), "/replicas",
         "stores messages of its neighbours"},
        {"resumed links", "choco", resumes(4, 8), with("ecd"), "/replicas", "or sums of them"},
        {"resumed links", "adagossip", resumes(4, 8), with("ecd"), "/replicas", "or sums of them"},
        {"resumed links", "dcd", resumes(4, 8), with("ecd"), "/replicas", "or sums of them"},
        {"resumed links", "beer", resumes(4, 8), with("ecd"), "/replicas", "or sums of them"},
        {"resumed links", "motef", resumes(4, 8), with("ecd"), "/replicas", "or sums of them"},
        {"resumed links", "quantized_push_sum", resumes(4, 8), with("ecd"), "/replicas",
         "or sums of them"},
        {"resumed means", "d2", resumes(4, 6), resumes(4, 8), "/replicas", "such as 8"},
        {"resumed texts", "dsgd",
         [](Facts& f) {
             resumes(4, 8)(f);
             f.model = ModelFacts{.carries = true};
         },
         [](Facts& f) { f.model->carries = false; }, "/replicas", "a text that continues"},
        {"resumed batches", "dsgd", resumes(4, 8, false), resumes(4, 8), "/data/batch_size",
         "4 replicas cannot become 8"},
        {"silence", "local_sgd",
         [](Facts& f) { f.schedule = ScheduleFacts{.iterations = 5, .silent = true}; },
         [](Facts& f) { f.schedule->silent = false; }, "/algorithm/period",
         "nothing is exchanged in the run's 5 iterations (a shorter period"},
        {"barriers", "swift", [](Facts& f) { f.schedule = ScheduleFacts{.barriers = true}; },
         with("dsgd"), "/profile/every", "(longer /profile/every"},
    };
    return all;
}

TEST_CASE("every compatibility rule refuses and accepts") {
    std::set<std::string> shown;
    for (const Example& example : examples()) {
        INFO(example.rule << ", " << example.algorithm);
        shown.insert(example.rule);
        const auto& rules = compatibility_rules();
        const auto rule = std::find_if(rules.begin(), rules.end(), [&](const Rule& each) {
            return each.name == std::string(example.rule);
        });
        REQUIRE(rule != rules.end());
        Facts facts = facts_about(example.algorithm);
        CHECK(find_problems(facts).empty());
        example.refused(facts);
        const auto problem = rule->check(facts);
        REQUIRE(problem);
        CHECK(problem->pointer == example.pointer);
        CHECK_THAT(problem->text(), ContainsSubstring(example.words));
        CHECK(find_problems(facts).front().text() == problem->text());
        if (!problem->warning) CHECK_THROWS_AS(require_compatible(facts), base::UserError);
        example.accepted(facts);
        CHECK_FALSE(rule->check(facts));
        CHECK(find_problems(facts).empty());
    }
    for (const Rule& rule : compatibility_rules()) {
        INFO(rule.name);
        CHECK(shown.erase(rule.name) == 1);
    }
}

TEST_CASE("accepted problems are warnings") {
    Facts facts = facts_about("d2");
    facts.matrix = MatrixFacts{.name = "one_way_ring", .symmetric = false};
    facts.instability = Instability{.graph = "ring", .replicas = 8, .growth = 2};
    facts.allow_biased = facts.allow_unstable = true;
    const auto problems = find_problems(facts);
    REQUIRE(problems.size() == 2);
    for (const Problem& problem : problems) CHECK(problem.warning);
    CHECK(problems.front().text() ==
          "/graph: one_way_ring is directed (W is not symmetric), which d2 does not allow");
    CHECK_NOTHROW(require_compatible(facts));
}

TEST_CASE("traits follow the algorithm's keys") {
    const auto keeps = [](const char* algorithm) {
        return facts_about(algorithm).traits.keeps_received_rows;
    };
    CHECK_FALSE(keeps("dsgd"));
    CHECK(keeps(R"({"type": "dsgd", "order": "combine_while_adapt"})"));
    CHECK(keeps(R"({"type": "gradient_tracking", "form": "diging"})"));
    CHECK(keeps(R"({"type": "sgp", "order": "awc"})"));
    CHECK_FALSE(keeps("slowmo"));
    CHECK(facts_about(R"({"type": "feddkd", "temperature": 3})").traits.temperature == 3);
}

TEST_CASE("the facts of a graph are those that the algorithm needs") {
    const auto graph = graphs::make_graph({{"type", "one_way_ring"}}, {8, 1});
    const MatrixFacts d2 = matrix_facts(*graph, "g", facts_about("d2").traits);
    CHECK(d2.row_sums);
    CHECK(d2.column_sums);
    CHECK(d2.is_static);
    CHECK_FALSE(d2.symmetric);
    const Traits relaysgd = facts_about("relaysgd").traits;
    CHECK_FALSE(matrix_facts(*graph, "g", relaysgd).tree);
    const auto trees = graphs::make_graph("double_binary_tree", {8, 1});
    CHECK(matrix_facts(*trees, "g", relaysgd).tree);
    const auto list = graphs::make_graph(
        base::parse_json(R"([{"type": "path", "until": {"iterations": 3}}, {"type": "tree"}])", ""),
        {8, 1, {10, 5, 1, 8}});
    CHECK_FALSE(matrix_facts(*list, "g", relaysgd).tree);
    const auto star = graphs::make_graph({{"type", "star"}, {"weights", "column"}}, {8, 1});
    CHECK_FALSE(matrix_facts(*star, "g", facts_about("dsgd").traits).row_sums);
    CHECK(matrix_facts(*star, "g", facts_about("sgp").traits).column_sums);
}

}  // namespace
}  // namespace dbench::algorithms
