// Links of the window's log.
#include "viewer/window/places.h"

#include <utility>

namespace memprof::viewer {
namespace {

// The first problems of a link, of which a stranger's may have thousands.
QString ProblemLine(const QStringList& problems) {
  constexpr qsizetype kShown = 4;
  QStringList line = problems.mid(0, kShown);
  if (problems.size() > kShown) line << Places::tr("and %1 more").arg(problems.size() - kShown);
  return line.join(QStringLiteral("; "));
}

QString FragmentOf(const LinkSession& in, const SelectionState& state, const ShownView& shown) {
  Link link = LinkOf(in, state);
  link.view = shown.name;
  link.state = shown.state;
  return LinkText(link);
}

}  // namespace

Places::Places(Document* document, Selection* selection, std::function<ShownView()> shown,
               QObject* parent)
    : QObject(parent), document_(document), selection_(selection), shown_(std::move(shown)) {
  connect(document, &Document::TimelinesReady, this, &Places::TimelinesReady);
}

void Places::Expect(const QString& fragment) {
  find_job_.Cancel();
  QStringList problems;
  expected_ = ParseLink(fragment, &problems);
  if (!problems.isEmpty()) emit Missed(ProblemLine(problems));
  if (!expected_.view.isEmpty()) emit ViewNamed(expected_.view);
}

void Places::TimelinesReady() {
  if (document_->grew() || expected_.empty()) return;
  Find(std::exchange(expected_, {}));
}

void Places::Go(const QString& fragment) {
  if (document_->session() == nullptr) return;
  QStringList problems;
  const Link link = ParseLink(fragment, &problems);
  if (!problems.isEmpty()) emit Missed(ProblemLine(problems));
  if (!link.view.isEmpty()) emit ViewNamed(link.view);
  Find(link);
}

LinkSession Places::Session() const {
  return {document_->session(), document_->symbols(), document_->timelines(), document_->bounds()};
}

void Places::Find(const Link& link) {
  find_job_.Start(
      [in = Session(), link, device = selection_->device()](const std::stop_token& stop) {
        return std::pair(in.session, FindTarget(in, link, device, stop));
      },
      [this, link](const std::pair<std::shared_ptr<const analysis::Session>, LinkTarget>& found) {
        // Another log may have been opened meanwhile; ids are those of the session.
        if (found.first == document_->session()) Arrive(link, found.second);
      });
}

void Places::Arrive(const Link& link, const LinkTarget& target) {
  if (link.axis) selection_->SetAxis(*link.axis);
  if (target.device) selection_->SetDevice(*target.device);
  selection_->SetFilter(target.filter.value_or(analysis::AllocationFilter()));
  selection_->SetWindow(target.window.value_or(selection_->bounds()));
  if (target.instant) selection_->SetInstant(*target.instant);
  selection_->SelectAllocation(target.allocation, target.site);
  QStringList problems = target.problems;
  if (!target.state.empty()) emit StateNamed(target.state, &problems);
  if (!problems.isEmpty()) emit Missed(ProblemLine(problems));
}

QString Places::Here() const {
  if (document_->session() == nullptr) return {};
  return FragmentOf(Session(), StateOf(*selection_), shown_());
}

void Places::AskHere(std::function<void(const QString&)> then) {
  if (document_->session() == nullptr) return;
  here_job_.Start([in = Session(), state = StateOf(*selection_), shown = shown_()](
                      const std::stop_token&) { return FragmentOf(in, state, shown); },
                  [then = std::move(then)](const QString& fragment) { then(fragment); });
}

}  // namespace memprof::viewer
