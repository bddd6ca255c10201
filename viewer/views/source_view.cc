// Memory by line of the program's own files.
#include "viewer/views/source_view.h"

#include <QLabel>
#include <QSplitter>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "viewer/geometry/units.h"
#include "viewer/views/csv.h"
#include "viewer/views/fact_view.h"
#include "viewer/views/page.h"
#include "viewer/views/source_pane.h"
#include "viewer/views/table_setup.h"

namespace memprof::viewer {
namespace {

constexpr int kShownFiles = 6;  // of the list that are visible at first

std::vector<FactRow> RowsOf(const std::vector<analysis::FileBytes>& files) {
  std::vector<FactRow> rows;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const analysis::LineBytes& self = files[i].self;
    FactRow row;
    row.cells = {FactCell(ToQString(files[i].file)), FactCell::Bytes(self.live),
                 FactCell::Bytes(self.peak), FactCell::Bytes(self.leaked)};
    row.cells[0].tip = row.cells[0].text;
    row.key = i;
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

SourceView::SourceView(Document* document, Selection* selection, QWidget* parent)
    : View(document, selection, parent) {
  QVBoxLayout* column = PageColumn(this);
  empty_ = SentenceLabel(this, tr("No call site of this memory has a file and a line. Programs "
                                  "need debug information (-g); Python has it always."));
  column->addWidget(empty_);
  parts_ = new QSplitter(Qt::Vertical, this);
  parts_->setChildrenCollapsible(false);
  files_ = new FactTable({{tr("File"), false, tr("The files of call sites, as the log names them")},
                          {tr("Now"), true, tr("Live at the instant")},
                          {tr("At peak"), true, tr("Live at the peak of the memory in use")},
                          {tr("Leaked"), true, tr("What survives of leaks")}},
                         this);
  list_ = new FactView(files_, 0, parts_);
  list_->setAccessibleName(tr("Files"));
  list_->setTextElideMode(Qt::ElideLeft);
  pane_ = new SourcePane(document, selection, SourcePane::Columns::kAll, parts_);
  parts_->addWidget(list_);
  parts_->addWidget(pane_);
  parts_->setStretchFactor(1, 1);
  column->addWidget(parts_, 1);
  connect(list_, &FactView::Chosen, this, [this](const FactRow& row) {
    chosen_ = names_[row.key];
    pane_->ShowFile(chosen_, 0);
  });
  const auto again = [this] { Invalidate(); };
  connect(document, &Document::StateChanged, this, [this] {
    if (!document_->grew()) {
      chosen_.clear();
      shown_ = {};
    }
    Invalidate();
  });
  connect(document, &Document::TimelinesReady, this, again);
  connect(document, &Document::PassingChanged, this, again);
  connect(selection, &Selection::InstantChanged, this, again);
  connect(selection, &Selection::DeviceChanged, this, again);
  connect(selection, &Selection::SelectionChanged, this, again);
}

void SourceView::Refresh() {
  if (document_->session() == nullptr) {
    job_.Cancel();
    Show({});
    return;
  }
  const analysis::LineQuery query = pane_->Query();
  job_.Start(
      [session = document_->session(), symbols = document_->symbols(), query,
       site = selection_->site()](std::stop_token) {
        Files found;
        found.files = analysis::FilesOfSites(*symbols, analysis::BytesByStack(*session, query));
        if (site.valid()) {
          found.frames = symbols->ResolveStack(site);
          found.site = symbols->Site(site);
        }
        return found;
      },
      [this](Files found) { Show(std::move(found)); });
}

void SourceView::Show(Files found) {
  names_.clear();
  for (const analysis::FileBytes& file : found.files) names_.push_back(file.file);
  const bool any = !names_.empty();
  empty_->setVisible(!any && document_->session() != nullptr);
  parts_->setVisible(any);
  const bool first = files_->rowCount() == 0;
  files_->SetRows(RowsOf(found.files), 2);
  if (first && any) {
    SetUpperRows(parts_, list_, std::min(kShownFiles, files_->rowCount()), 1, height() / 3);
  }
  if (std::exchange(shown_, selection_->site()) != selection_->site() && !found.site.file.empty()) {
    pane_->ShowStack(found.frames, found.site);
    chosen_ = pane_->file();
  } else if (any && chosen_.empty()) {
    chosen_ = names_.front();
    pane_->ShowFile(chosen_, 0);
  } else if (!any) {
    pane_->Clear();
  }
  const auto at = std::find(names_.begin(), names_.end(), chosen_);
  list_->Show(at == names_.end() ? -1
                                 : files_->FindKey(static_cast<std::size_t>(at - names_.begin())));
}

bool SourceView::WriteCsv(QTextStream* out) const {
  return WriteCsvRows(out, pane_->model(), SourceModel::kPlainRole);
}

}  // namespace memprof::viewer
