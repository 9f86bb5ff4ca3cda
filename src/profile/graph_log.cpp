#include "profile/graph_log.hpp"

#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/clock.hpp"
#include "base/json.hpp"
#include "graphs/proof/certificate.hpp"
#include "profile/earlier_run.hpp"
#include "profile/matrix_digest.hpp"

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

void GraphLog::continue_from(const EarlierRun& earlier) {
    if (!schedule_ || earlier.matrices.empty()) return;
    for (const EarlierRun::Matrix& matrix : earlier.matrices) {
        rows_.push_back({std::nullopt, matrix.rho});
    }
    edges_ = earlier.matrices.back().end;
    std::set<std::pair<uint64_t, int64_t>> different;  // pairs of a matrix and a row
    for (int64_t t = 0; t < earlier.first; ++t) {
        const int64_t row = earlier.graph[static_cast<size_t>(t)];
        // Iterations with another number of replicas used matrices that are not kept.
        if (row < 0 || rows_[static_cast<size_t>(row)].round) continue;
        const graphs::Round round = schedule_->at(t);
        if (row_of_.contains(round.matrix) || different.contains({round.matrix, row})) continue;
        if (digest_of(round) == earlier.matrices[static_cast<size_t>(row)].digest) {
            claim(row, round);
        } else {
            different.insert({round.matrix, row});
        }
    }
    for (size_t row = 0; row < rows_.size(); ++row) {
        if (!rows_[row].round) {
            unclaimed_.emplace(earlier.matrices[row].digest, static_cast<int64_t>(row));
        }
    }
}

void GraphLog::claim(int64_t row, graphs::Round round) {
    rows_[static_cast<size_t>(row)] = {round, known_rho(round)};
    row_of_.emplace(round.matrix, row);
    if (!round.repeats) ++nonrepeating_;
}

int64_t GraphLog::row(graphs::Round round, RunFile& file) {
    if (!schedule_) return -1;
    if (const auto found = row_of_.find(round.matrix); found != row_of_.end()) return found->second;
    if (!round.repeats && nonrepeating_ >= limit_) return -1;
    if (!unclaimed_.empty()) {
        if (const auto found = unclaimed_.find(digest_of(round)); found != unclaimed_.end()) {
            const int64_t row = found->second;
            unclaimed_.erase(found);
            claim(row, round);
            return row;
        }
    }
    const auto row = static_cast<int64_t>(rows_.size());
    rows_.push_back({});
    claim(row, round);
    write(round, file);
    return row;
}

uint64_t GraphLog::digest_of(graphs::Round round) const {
    MatrixDigest digest;
    for (int to = 0; to < schedule_->size(); ++to) {
        for (const graphs::Link& link : schedule_->in(round, to)) {
            digest.add(to, link.peer, link.weight);
        }
    }
    return digest.value();
}

double GraphLog::known_rho(graphs::Round round) const {
    return round.matrix == certified_ ? certified_rho_ : kNotKnown;
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
    file.graphs["rho"].add(known_rho(round));
    file.graph_offset["offset"].add(edges_);
}

std::vector<double> GraphLog::rho(double seconds) const {
    const double end = base::now() + seconds;
    std::vector<double> values;
    for (const Row& row : rows_) {
        double rho = row.rho;
        if (rho != rho && row.round && base::now() < end) {
            rho = graphs::round_rho(*schedule_, *row.round).value_or(kNotKnown);
        }
        values.push_back(rho);
    }
    return values;
}

}  // namespace dbench::profile
