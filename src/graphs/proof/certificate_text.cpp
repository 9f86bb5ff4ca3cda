#include <nlohmann/json.hpp>
#include <sstream>

#include "base/text.hpp"
#include "graphs/proof/certificate.hpp"

namespace dbench::graphs {
namespace {

template <class T>
base::Json or_null(const std::optional<T>& value) {
    return value ? base::Json(*value) : base::Json(nullptr);
}

template <class T>
std::string certificate_body(const std::optional<T>& value,
                             const std::string& unknown = "not resolved") {
    if (!value) return unknown;
    std::ostringstream out;
    out.precision(9);
    out << *value;
    return out.str();
}

std::string kind(const Certificate& c) {
    if (c.row_stochastic && c.column_stochastic) {
        return c.symmetric ? "symmetric, doubly stochastic" : "doubly stochastic, not symmetric";
    }
    if (c.row_stochastic) return "row stochastic only: the limit is a weighted mean";
    if (c.column_stochastic) return "column stochastic only: for push-sum";
    return "neither rows nor columns sum to 1";
}

}  // namespace

base::Json to_json(const Certificate& c) {
    base::Json out;
    out["type"] = c.type;
    out["n"] = c.n;
    out["connected"] = c.connected;
    out["row_stochastic"] = c.row_stochastic;
    out["column_stochastic"] = c.column_stochastic;
    out["symmetric"] = c.symmetric;
    out["nonnegative"] = c.nonnegative;
    out["degree"] = {{"min", c.degree_min}, {"mean", c.degree_mean}, {"max", c.degree_max}};
    out["rho"] = or_null(c.rho);
    out["gap"] = or_null(c.gap);
    out["lambda_min"] = or_null(c.lambda_min);
    out["period"] = or_null(c.period);
    out["rho_period"] = or_null(c.rho_period);
    out["finite_time"] = or_null(c.finite_time);
    out["rho_expected"] = or_null(c.rho_expected);
    out["iterations_to_1e3"] = or_null(c.iterations_to_1e3);
    out["rate"] = or_null(c.rate);
    out["effective_neighbours"] = {{"gamma", c.gamma}, {"value", or_null(c.effective_neighbours)}};
    out["disagreement"] = {{"noise", or_null(c.disagreement.noise)},
                           {"beta", kMomentum},
                           {"momentum", or_null(c.disagreement.momentum)},
                           {"lasting", or_null(c.disagreement.lasting)}};
    out["stationary"] = {{"min", or_null(c.stationary_min)}, {"max", or_null(c.stationary_max)}};
    out["messages"] = c.messages;
    out["models_sent"] = c.models_sent;
    return out;
}

std::string to_text(const Certificate& c) {
    std::ostringstream out;
    const auto line = [&out](const std::string& name, const std::string& value) {
        out << base::column(name, 26) << value << '\n';
    };
    line("graph", c.type + ", n = " + std::to_string(c.n));
    line("connected", c.connected ? "yes" : "NO");
    line("weights", kind(c) + (c.nonnegative ? "" : ", some negative"));
    std::ostringstream degree;
    degree << c.degree_min << " / " << c.degree_mean << " / " << c.degree_max;
    line("degree min/mean/max", degree.str());
    line("rho = ||W - J/n||", certificate_body(c.rho));
    line("spectral gap", certificate_body(c.gap));
    if (c.symmetric) line("smallest eigenvalue", certificate_body(c.lambda_min));
    if (!c.period) {
        line("period", "none: a random sequence");
        line("rho, expected", certificate_body(c.rho_expected));
    } else if (*c.period > 1) {
        line("period", std::to_string(*c.period) + " rounds");
        line("rho over one period", certificate_body(c.rho_period));
    }
    line("exact average", c.finite_time ? "after " + std::to_string(*c.finite_time) +
                                              (*c.finite_time == 1 ? " round" : " rounds")
                                        : std::string("only in the limit"));
    line("contraction per round", certificate_body(c.rate));
    line("rounds to a thousandth",
         certificate_body(c.iterations_to_1e3, c.connected ? "not resolved" : "never"));
    line("effective neighbours", certificate_body(c.effective_neighbours) +
                                     " (gamma = " + certificate_body(std::optional(c.gamma)) + ")");
    if (c.disagreement.lasting) {
        line("disagreement", "noise " + certificate_body(c.disagreement.noise, "infinite") +
                                 ", with momentum " + certificate_body(std::optional(kMomentum)) +
                                 " " + certificate_body(c.disagreement.momentum, "infinite") +
                                 ", lasting differences " +
                                 certificate_body(c.disagreement.lasting));
    }
    if (!(c.row_stochastic && c.column_stochastic)) {
        line("weights in the limit", c.stationary_min
                                         ? certificate_body(c.stationary_min) + " to " +
                                               certificate_body(c.stationary_max) + " of 1"
                                         : std::string("not resolved"));
    }
    line("messages, models sent", certificate_body(std::optional(c.messages)) + ", " +
                                      certificate_body(std::optional(c.models_sent)) +
                                      " per replica and iteration");
    return out.str();
}

}  // namespace dbench::graphs
