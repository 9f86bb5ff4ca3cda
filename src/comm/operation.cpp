#include "comm/operation.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "arena/kernels.hpp"
#include "comm/coded_mixing.hpp"

namespace dbench::comm {

Operation::Operation(RowPlane& plane, std::shared_ptr<ScratchPool> pool,
                     std::shared_ptr<const MixingPlan> plan, arena::Rows x, arena::Columns columns,
                     int tag, Options options)
    : plane_(plane),
      pool_(std::move(pool)),
      plan_(std::move(plan)),
      x_(x),
      columns_(columns),
      tag_(tag),
      options_(options) {
    const bool in_place = options.in_place && !options.by_library;
    for (const GroupPlan& group : plan_->groups) {
        if (on_host(group) && options.in_place) {
            host_groups_.emplace_back(group, *options.host, x, columns);
            combined_ = false;
        }
        if (group.local() || on_host(group)) continue;
        const bool gathers_coded = coded() && options.in_place;
        groups_.emplace_back(group, x, columns, *pool_,
                             GroupMean::Options{in_place, options.codec, gathers_coded});
    }
}

bool Operation::begin() {
    begin_rows();
    if (groups_.empty()) return false;
    if (options_.by_library) {  // sums of the library start in the order of the exchanges
        begin_library();
        return false;
    }
    phase_ = Phase::reduce;
    return std::any_of(plan_->groups.begin(), plan_->groups.end(), [&](const GroupPlan& g) {
        return !g.local() && !on_host(g) && (coded() || g.adds_first());
    });
}

bool Operation::on_host(const GroupPlan& group) const {
    return options_.host && options_.host->takes(group);
}

std::vector<const void*> Operation::local_rows(const GroupPlan& group) const {
    std::vector<const void*> rows;
    for (const int64_t row : group.rows) rows.push_back(x_.at(row, 0));
    return rows;
}

void Operation::begin_rows() {
    const int64_t count = columns_.count();
    const int64_t bytes = count * arena::size_of(options_.codec, x_.type);
    if (bytes == 0) return;
    const auto travels = [&](const Parcel& parcel) {
        return !options_.host || !options_.host->with(parcel.rank);
    };
    int64_t arriving = 0;
    for (const Parcel& parcel : plan_->receive) {
        if (travels(parcel)) arriving += static_cast<int64_t>(parcel.rows.size());
    }
    received_ = pool_->take(arriving * bytes);
    slots_.resize(static_cast<size_t>(plan_->slots));
    if (coded()) sent_ = pool_->take(plan_->rows_sent * bytes);
    std::map<int64_t, char*> encoded;
    const auto travelling = [&](int64_t row) {
        char* const from = x_.at(row, columns_.begin);
        if (!coded()) return from;
        const auto next = static_cast<int64_t>(encoded.size());
        const auto [it, first] = encoded.try_emplace(row, sent_.get() + next * bytes);
        if (first) {
            auto* const words = reinterpret_cast<uint16_t*>(it->second);
            arena::encode(options_.codec, x_.type, from, words, count);
        }
        return it->second;
    };
    std::vector<Message> out, in;
    for (const Parcel& parcel : plan_->send) {
        if (!travels(parcel)) continue;
        for (const int64_t row : parcel.rows) {
            out.push_back({parcel.rank, tag_, travelling(row), bytes});
        }
    }
    char* arrives = received_.get();
    for (const Parcel& parcel : plan_->receive) {
        if (!travels(parcel)) continue;
        for (const int64_t slot : parcel.rows) {
            slots_[slot] = arrives - columns_.begin * bytes / count;
            in.push_back({parcel.rank, tag_, arrives, bytes});
            arrives += bytes;
        }
    }
    if (!out.empty() || !in.empty()) rows_ = plane_.start(out, in);
}

void Operation::begin_library() {
    const int64_t size = arena::size_of(x_.type);
    const void* from = x_.at(0, columns_.begin);
    if (x_.count > 1) {  // this rank's rows first, as a tree of their own
        std::vector<arena::Summand> leaves;
        for (int64_t i = 0; i < x_.count; ++i) leaves.push_back({{i, i + 1}, x_.at(i, 0)});
        local_sum_ = pool_->take(columns_.count() * size);
        arena::tree_sum(x_.type, x_.count, leaves, local_sum_.get() - columns_.begin * size,
                        columns_);
        from = local_sum_.get();
    }
    char* const to = static_cast<char*>(groups_[0].result()) + columns_.begin * size;
    step_ = plane_.start_sum(x_.type, from, to, columns_.count());
    phase_ = Phase::library;
}

bool Operation::advance() {
    const bool groups = advance_groups(), here = advance_in_place();
    return (!rows_ || rows_->test()) && groups && here;
}

bool Operation::advance_in_place() {
    if (!host()) return true;
    if (!host()->there()) return false;
    if (host_groups_.empty()) return true;
    if (!combined_) {
        for (HostMean& group : host_groups_) group.combine();
        host()->combined();
        combined_ = true;
    }
    return host()->combining().empty();
}

bool Operation::advance_groups() {
    if (phase_ == Phase::reduce) {
        for (GroupMean& group : groups_) group.reduce();
        start_groups(&GroupMean::list_scatter);
        phase_ = Phase::scatter;
    }
    if (phase_ == Phase::scatter && step_->test()) {
        for (GroupMean& group : groups_) group.combine();
        start_groups(&GroupMean::list_gather);
        phase_ = Phase::gather;
    }
    if (phase_ == Phase::gather && step_->test()) phase_ = Phase::moved;
    if (phase_ == Phase::library && step_->test()) {
        const arena::Rows sum{groups_[0].result(), x_.type, x_.space, 0, 1, x_.stride};
        arena::scale(sum, columns_, 1.0 / static_cast<double>(plan_->groups[0].members));
        phase_ = Phase::moved;
    }
    return phase_ == Phase::moved;
}

void Operation::start_groups(void (GroupMean::*list)(int, std::vector<Message>&,
                                                     std::vector<Message>&)) {
    std::vector<Message> out, in;
    for (GroupMean& group : groups_) (group.*list)(tag_, out, in);
    step_ = plane_.start(out, in);
}

std::vector<int> Operation::owing() const {
    std::vector<int> ranks;
    for (const auto* transfer : {rows_.get(), step_.get()}) {
        if (!transfer) continue;
        const std::vector<int> more = transfer->owing();
        ranks.insert(ranks.end(), more.begin(), more.end());
    }
    if (options_.host) {
        std::vector<int> more = options_.host->owing();
        if (more.empty()) more = options_.host->combining();
        ranks.insert(ranks.end(), more.begin(), more.end());
    }
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
}

void Operation::finish(arena::Rows out, Result result, const std::vector<arena::Columns>& pieces,
                       const Then& then) {
    DBENCH_EXPECT(!host() || options_.in_place || out.data != x_.data);
    if (columns_.count() > 0) {
        for (GroupMean& group : groups_) group.arrive();
        if (coded() && !options_.in_place) {
            finish_coded(out, result);
            if (then) then(columns_);
        } else {
            finish_whole(out, result, pieces, then);
        }
    }
    if (host()) host()->read();
    // Who keeps the token, to reclaim the rows, keeps no memory with it.
    groups_.clear();
    received_.reset();
    sent_.reset();
    local_sum_.reset();
}

void Operation::finish_whole(arena::Rows out, Result result,
                             const std::vector<arena::Columns>& pieces, const Then& then) {
    for (const Parcel& parcel : plan_->receive) {
        if (!host() || !host()->with(parcel.rank)) continue;
        for (const int64_t slot : parcel.rows) {
            slots_[slot] = host()->row(parcel.rank, plan_->slot_rows[slot]);
        }
    }
    const auto sums = result == Result::change ? changes(out) : terms(out);
    for (const arena::Columns piece : pieces) {
        for (const GroupPlan& group : plan_->groups) {
            if (group.local()) {
                mean_of_rows(group, local_rows(group), piece, out, options_.codec);
            } else if (on_host(group) && !options_.in_place) {
                mean_of_rows(group, host()->rows_of(group), piece, out, options_.codec);
            }
        }
        for (const GroupMean& group : groups_) group.copy_to(out, piece);
        for (const HostMean& group : host_groups_) group.copy_to(out, piece);
        if (result == Result::change) {
            arena::weighted_changes(sums, out, piece);
        } else if (plan_->has_terms) {
            arena::weighted_means(sums, out, piece);
        }
        if (then) then(piece);
    }
}

void Operation::finish_coded(arena::Rows out, Result result) {
    CodedInput in{
        options_.codec, x_, columns_, reinterpret_cast<const uint16_t*>(received_.get()), {}};
    auto spanning = groups_.begin();  // in the order of the plan
    for (const GroupPlan& group : plan_->groups) {
        in.group_means.push_back(group.local() ? nullptr : (spanning++)->result());
    }
    mix_coded(*plan_, in, out, result == Result::change);
}

std::vector<std::vector<arena::Term>> Operation::changes(arena::Rows out) const {
    std::vector<std::vector<arena::Term>> changes = terms(out);
    for (size_t row = 0; row < changes.size(); ++row) {
        const void* const own = x_.at(static_cast<int64_t>(row), 0);
        if (changes[row].empty() || changes[row][0].row != own) {  // without a weight
            changes[row].insert(changes[row].begin(), {own, 0.0});
        }
    }
    return changes;
}

std::vector<std::vector<arena::Term>> Operation::terms(arena::Rows out) const {
    std::vector<std::vector<arena::Term>> terms(plan_->terms.size());
    for (size_t row = 0; row < terms.size(); ++row) {
        for (const Source& source : plan_->terms[row]) {
            terms[row].push_back(
                {source.received ? slots_[source.index] : x_.at(source.index, 0), source.weight});
        }
    }
    // Rows of a group hold their mean by now, and keep it. One call for all rows all the same: in
    // place, a second one would read what the first has written.
    for (const GroupPlan& group : plan_->groups) {
        for (const int64_t row : group.rows) terms[row] = {{out.at(row, 0), 1.0}};
    }
    return terms;
}

}  // namespace dbench::comm
