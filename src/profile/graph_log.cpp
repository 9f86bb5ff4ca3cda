#include "profile/graph_log.hpp"

#include <limits>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "base/json.hpp"
#include "graphs/proof/certificate.hpp"

namespace dbench::profile {
namespace {

constexpr double kNotKnown = std::numeric_limits<double>::quiet_NaN();

double certified_rho(const std::string& certificate) {
    if (certificate.empty()) return kNotKnown;
    const base::Json json = base::parse_json(certificate, "the certificate");
    return json.contains("rho") && json["rho"].is_number() ? json["rho"].get<double>() : kNotKnown;
}

}  // namespace

GraphLog::GraphLog(const graphs::Schedule* schedule, const std::string& certificate,
                   uint64_t certified, int64_t limit)
    : schedule_(schedule),
      certified_rho_(certified_rho(certificate)),
      certified_(certified),
      limit_(limit) {}

int64_t GraphLog::row(graphs::Round round, RunFile& file) {
    if (!schedule_) return -1;
    if (const auto found = rows_.find(round.matrix); found != rows_.end()) return found->second;
    if (!round.repeats && nonrepeating_++ >= limit_) return -1;
    const auto row = static_cast<int64_t>(rounds_.size());
    rows_.emplace(round.matrix, row);
    rounds_.push_back(round);
    write(round, file);
    return row;
}

void GraphLog::write(graphs::Round round, RunFile& file) {
    Column& edge = file.edges["edge"];
    Column& weight = file.edges["weight"];
    const int n = schedule_->size();
    int64_t neighbours = 0;
    for (int to = 0; to < n; ++to) {
        for (const graphs::Link& link : schedule_->in(round, to)) {
            edge.add(static_cast<int64_t>(to));
            edge.add(static_cast<int64_t>(link.peer));
            weight.add(link.weight);
            neighbours += link.peer != to;
            ++edges_;
        }
    }
    file.graphs["degree"].add(static_cast<double>(neighbours) / n);
    file.graphs["rho"].add(round.matrix == certified_ ? certified_rho_ : kNotKnown);
    file.graph_offset["offset"].add(edges_);
}

std::vector<double> GraphLog::rho(double seconds) const {
    const double end = base::now() + seconds;
    std::vector<double> values;
    for (const graphs::Round round : rounds_) {
        double rho = round.matrix == certified_ ? certified_rho_ : kNotKnown;
        if (rho != rho && base::now() < end) {
            rho = graphs::round_rho(*schedule_, round).value_or(kNotKnown);
        }
        values.push_back(rho);
    }
    return values;
}

}  // namespace dbench::profile
