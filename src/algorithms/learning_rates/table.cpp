// The table of schedules, and the keys that all of them accept.

#include <nlohmann/json.hpp>

#include "algorithms/learning_rates/schedule.hpp"

namespace dbench::algorithms {

// In the order of the documentation. Each row, NAME_schedule(), is in the file of its schedule.
#define DBENCH_SCHEDULES(ROW) \
    ROW(constant)             \
    ROW(multistep)            \
    ROW(cosine)               \
    ROW(exponential)          \
    ROW(inverse_sqrt)

#define SCHEDULE_DECLARED(name) ScheduleEntry name##_schedule();
#define SCHEDULE_MADE(name) name##_schedule(),
DBENCH_SCHEDULES(SCHEDULE_DECLARED)

const std::vector<ScheduleEntry>& schedule_table() {
    static const std::vector<ScheduleEntry> table = {DBENCH_SCHEDULES(SCHEDULE_MADE)};
    return table;
}

const base::Section<RateScale>& RateScale::section() {
    static const base::Section<RateScale> keys{
        {base::Words<Rule>("rule",
                           {{"none", Rule::none}, {"linear", Rule::linear}, {"sqrt", Rule::sqrt}},
                           Rule::none, "growth of the rate with the global batch"),
         &RateScale::rule},
        {base::Parameter::integer("reference_batch", "256",
                                  "global batch for which lr is specified")
             .at_least(1),
         &RateScale::reference_batch},
    };
    return keys;
}

const base::Section<ScheduleSpec>& ScheduleSpec::section() {
    static const base::Section<ScheduleSpec> keys{
        {base::Parameter::duration("warmup", R"({"epochs": 0})",
                                   "the rate grows linearly over this time"),
         &ScheduleSpec::warmup},
        {base::Parameter::number("warmup_from", "0",
                                 "rate at the start of warm-up, relative to its end")
             .at_least(0)
             .at_most(1),
         &ScheduleSpec::warmup_from},
        {"scale", &ScheduleSpec::scale, "scaling of the rate by the global batch"},
    };
    return keys;
}

base::Json resolve_schedule(const base::Json& given, const std::string& pointer) {
    return base::resolve_member(given, pointer, "schedule", base::entries_of(schedule_table()));
}

}  // namespace dbench::algorithms
