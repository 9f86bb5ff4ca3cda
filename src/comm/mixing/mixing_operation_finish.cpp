// Finishes one exchange: finds the rows that have arrived or are read in place, and computes the
// result from them.

#include <utility>

#include "arena/kernels.hpp"
#include "base/error.hpp"
#include "comm/mixing/coded_mixing.hpp"
#include "comm/mixing/mixing_operation.hpp"
#include "comm/mixing/mixing_route.hpp"
#include "comm/mixing/travelling_rows.hpp"

namespace dbench::comm {

void MixingOperation::finish(arena::Rows out, Result result,
                             const std::vector<arena::Columns>& pieces, const Then& then) {
    DBENCH_EXPECT(!in_place() || context_.all_reduce || out.data != context_.x.data);
    if (ordered() && moves()) {
        context_.place.compute().wait(moved_, "rows that have come");
    }
    if (context_.columns.count() > 0) {
        for (const auto& route : routes_) route->finish_means();
        // An all-reduce replaces rows by the mean; mixing in 16 bits adds differences to each
        // replica's own row.
        context_.coded() && !context_.all_reduce ? finish_coded(out, result, pieces, then)
                                                 : finish_uncoded(out, result, pieces, then);
    }
    end();
}

bool MixingOperation::finish(const UseTerms& use) {
    if (context_.columns.count() == 0) return false;
    std::vector<std::vector<arena::Term>> all = terms();
    for (const auto& route : routes_) {
        if (!route->set_terms_of_means(all)) return false;
    }
    if (all.empty() || !use(all)) return false;
    end();
    return true;
}

void MixingOperation::end() {
    if (in_place()) in_place()->mark_read();
    for (const auto& route : routes_) route->release();
    travelling_->release();
}

void MixingOperation::finish_uncoded(arena::Rows out, Result result,
                                     const std::vector<arena::Columns>& pieces, const Then& then) {
    const auto sums = result == Result::change ? change_terms(out) : terms(out);
    arena::Queue& queue = context_.place.compute();
    for (const arena::Columns piece : pieces) {
        for (const auto& route : routes_) route->write_means(out, piece);
        if (result == Result::change) {
            arena::weighted_changes(sums, out, piece, queue);
        } else if (context_.plan->has_terms) {
            arena::weighted_means(sums, out, piece, queue);
        }
        if (then) then(piece);
    }
}

void MixingOperation::finish_coded(arena::Rows out, Result result,
                                   const std::vector<arena::Columns>& pieces, const Then& then) {
    std::vector<const uint16_t*> received;
    for (const char* row : received_rows()) {
        received.push_back(reinterpret_cast<const uint16_t*>(row));
    }
    std::vector<CodedGroup> groups(context_.plan->groups.size());
    for (const auto& route : routes_) route->locate_coded_means(groups);
    CodedMixing mixing(*context_.plan,
                       {context_.codec, travelling_->rows(), travelling_->words(),
                        std::move(received), std::move(groups)},
                       *context_.pool, context_.place.compute());
    for (const arena::Columns piece : pieces) {
        mixing.mix(out, piece, result == Result::change);
        if (then) then(piece);
    }
}

std::vector<const char*> MixingOperation::received_rows() const {
    std::vector<const char*> found(static_cast<size_t>(context_.plan->received_rows));
    for (const auto& route : routes_) route->locate_rows(found);
    return found;
}

std::vector<std::vector<arena::Term>> MixingOperation::terms() const {
    const std::vector<const char*> received = received_rows();
    std::vector<std::vector<arena::Term>> terms(context_.plan->terms.size());
    for (size_t row = 0; row < terms.size(); ++row) {
        for (const Source& source : context_.plan->terms[row]) {
            terms[row].push_back(
                {source.received ? received[source.index] : context_.x.at(source.index, 0),
                 source.weight});
        }
    }
    return terms;
}

std::vector<std::vector<arena::Term>> MixingOperation::terms(arena::Rows out) const {
    std::vector<std::vector<arena::Term>> all = terms();
    // Rows of a group already hold the mean and keep it. All rows are nevertheless passed in one
    // call: if `out` is x, a second call would read what the first has written.
    for (const GroupPlan& group : context_.plan->groups) {
        for (const int64_t row : group.rows) all[row] = {{out.at(row, 0), 1.0}};
    }
    return all;
}

std::vector<std::vector<arena::Term>> MixingOperation::change_terms(arena::Rows out) const {
    std::vector<std::vector<arena::Term>> change_terms = terms(out);
    for (size_t row = 0; row < change_terms.size(); ++row) {
        const void* const own = context_.x.at(static_cast<int64_t>(row), 0);
        // W gives the row itself no weight.
        if (change_terms[row].empty() || change_terms[row][0].row != own) {
            change_terms[row].insert(change_terms[row].begin(), {own, 0.0});
        }
    }
    return change_terms;
}

}  // namespace dbench::comm
